try { const t = localStorage.getItem("cuteport-theme"); if (t) document.documentElement.dataset.theme = t; } catch { /* a file may have no storage */ }
