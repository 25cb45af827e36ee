// All arithmetic of the opcode tables.
#ifndef EMU_ARITH_H
#define EMU_ARITH_H
#include "arith_approx.h"
#include "arith_cvt.h"
#include "arith_int.h"
#include "arith_logic.h"
#include "arith_video.h"
#endif
