"""One HTML file that shows what verdicts say. Reads target folders; runs nothing of them."""
