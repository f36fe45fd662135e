; Operations on integers of 128 bits, of additions, shifts and comparisons: see `wide.rs`.
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.bswap.i64(i64)
declare i64 @llvm.bitreverse.i64(i64)

; How many zeros are above the highest bit that is set; 128 of 0.
define i128 @schism.wide.ctlz(i128 %a) nounwind {
  %high.wide = lshr i128 %a, 64
  %high = trunc i128 %high.wide to i64
  %low = trunc i128 %a to i64
  %of.high = call i64 @llvm.ctlz.i64(i64 %high, i1 false)
  %of.low = call i64 @llvm.ctlz.i64(i64 %low, i1 false)
  %behind = add i64 %of.low, 64
  %is.low = icmp eq i64 %high, 0
  %count = select i1 %is.low, i64 %behind, i64 %of.high
  %result = zext i64 %count to i128
  ret i128 %result
}

define i128 @schism.wide.cttz(i128 %a) nounwind {
  %high.wide = lshr i128 %a, 64
  %high = trunc i128 %high.wide to i64
  %low = trunc i128 %a to i64
  %of.high = call i64 @llvm.cttz.i64(i64 %high, i1 false)
  %of.low = call i64 @llvm.cttz.i64(i64 %low, i1 false)
  %behind = add i64 %of.high, 64
  %is.high = icmp eq i64 %low, 0
  %count = select i1 %is.high, i64 %behind, i64 %of.low
  %result = zext i64 %count to i128
  ret i128 %result
}

define i128 @schism.wide.ctpop(i128 %a) nounwind {
  %high.wide = lshr i128 %a, 64
  %high = trunc i128 %high.wide to i64
  %low = trunc i128 %a to i64
  %of.high = call i64 @llvm.ctpop.i64(i64 %high)
  %of.low = call i64 @llvm.ctpop.i64(i64 %low)
  %count = add i64 %of.high, %of.low
  %result = zext i64 %count to i128
  ret i128 %result
}

define i128 @schism.wide.bswap(i128 %a) nounwind {
  %high.wide = lshr i128 %a, 64
  %high = trunc i128 %high.wide to i64
  %low = trunc i128 %a to i64
  %of.high = call i64 @llvm.bswap.i64(i64 %high)
  %of.low = call i64 @llvm.bswap.i64(i64 %low)
  %below = zext i64 %of.high to i128
  %above = zext i64 %of.low to i128
  %up = shl i128 %above, 64
  %result = or i128 %up, %below
  ret i128 %result
}

define i128 @schism.wide.bitreverse(i128 %a) nounwind {
  %high.wide = lshr i128 %a, 64
  %high = trunc i128 %high.wide to i64
  %low = trunc i128 %a to i64
  %of.high = call i64 @llvm.bitreverse.i64(i64 %high)
  %of.low = call i64 @llvm.bitreverse.i64(i64 %low)
  %below = zext i64 %of.high to i128
  %above = zext i64 %of.low to i128
  %up = shl i128 %above, 64
  %result = or i128 %up, %below
  ret i128 %result
}

; A quotient and a remainder, bit by bit from the first one that can be set.
define { i128, i128 } @schism.wide.divide(i128 %a, i128 %b) nounwind {
start:
  %is.less = icmp ult i128 %a, %b
  br i1 %is.less, label %small, label %large
small:
  %none = insertvalue { i128, i128 } zeroinitializer, i128 %a, 1
  ret { i128, i128 } %none
large:
  %high.a = lshr i128 %a, 64
  %is.short = icmp eq i128 %high.a, 0
  br i1 %is.short, label %short, label %long
short:
  ; Then the divisor has 64 bits, too.
  %a.64 = trunc i128 %a to i64
  %b.64 = trunc i128 %b to i64
  %q.64 = udiv i64 %a.64, %b.64
  %r.64 = urem i64 %a.64, %b.64
  %q.short = zext i64 %q.64 to i128
  %r.short = zext i64 %r.64 to i128
  %first.short = insertvalue { i128, i128 } poison, i128 %q.short, 0
  %both.short = insertvalue { i128, i128 } %first.short, i128 %r.short, 1
  ret { i128, i128 } %both.short
long:
  %zeros.a = call i128 @schism.wide.ctlz(i128 %a)
  %zeros.b = call i128 @schism.wide.ctlz(i128 %b)
  %distance = sub i128 %zeros.b, %zeros.a
  %first = shl i128 %b, %distance
  br label %bit
bit:
  %place = phi i128 [ %distance, %long ], [ %place.next, %bit ]
  %divisor = phi i128 [ %first, %long ], [ %divisor.next, %bit ]
  %rest = phi i128 [ %a, %long ], [ %rest.next, %bit ]
  %quotient = phi i128 [ 0, %long ], [ %quotient.next, %bit ]
  %fits = icmp uge i128 %rest, %divisor
  %taken = select i1 %fits, i128 %divisor, i128 0
  %rest.next = sub i128 %rest, %taken
  %doubled = shl i128 %quotient, 1
  %one = zext i1 %fits to i128
  %quotient.next = or i128 %doubled, %one
  %divisor.next = lshr i128 %divisor, 1
  %place.next = sub i128 %place, 1
  %is.last = icmp eq i128 %place, 0
  br i1 %is.last, label %done, label %bit
done:
  %with.quotient = insertvalue { i128, i128 } poison, i128 %quotient.next, 0
  %both = insertvalue { i128, i128 } %with.quotient, i128 %rest.next, 1
  ret { i128, i128 } %both
}

define i128 @schism.wide.udiv(i128 %a, i128 %b) nounwind {
  %both = call { i128, i128 } @schism.wide.divide(i128 %a, i128 %b)
  %result = extractvalue { i128, i128 } %both, 0
  ret i128 %result
}

define i128 @schism.wide.urem(i128 %a, i128 %b) nounwind {
  %both = call { i128, i128 } @schism.wide.divide(i128 %a, i128 %b)
  %result = extractvalue { i128, i128 } %both, 1
  ret i128 %result
}

define i128 @schism.wide.abs(i128 %a) nounwind {
  %is.negative = icmp slt i128 %a, 0
  %minus = sub i128 0, %a
  %result = select i1 %is.negative, i128 %minus, i128 %a
  ret i128 %result
}

define i128 @schism.wide.sdiv(i128 %a, i128 %b) nounwind {
  %a.abs = call i128 @schism.wide.abs(i128 %a)
  %b.abs = call i128 @schism.wide.abs(i128 %b)
  %quotient = call i128 @schism.wide.udiv(i128 %a.abs, i128 %b.abs)
  %signs = xor i128 %a, %b
  %is.negative = icmp slt i128 %signs, 0
  %minus = sub i128 0, %quotient
  %result = select i1 %is.negative, i128 %minus, i128 %quotient
  ret i128 %result
}

define i128 @schism.wide.srem(i128 %a, i128 %b) nounwind {
  %a.abs = call i128 @schism.wide.abs(i128 %a)
  %b.abs = call i128 @schism.wide.abs(i128 %b)
  %rest = call i128 @schism.wide.urem(i128 %a.abs, i128 %b.abs)
  %is.negative = icmp slt i128 %a, 0
  %minus = sub i128 0, %rest
  %result = select i1 %is.negative, i128 %minus, i128 %rest
  ret i128 %result
}

define i128 @schism.wide.smax(i128 %a, i128 %b) nounwind {
  %wins = icmp sgt i128 %a, %b
  %result = select i1 %wins, i128 %a, i128 %b
  ret i128 %result
}

define i128 @schism.wide.smin(i128 %a, i128 %b) nounwind {
  %wins = icmp slt i128 %a, %b
  %result = select i1 %wins, i128 %a, i128 %b
  ret i128 %result
}

define i128 @schism.wide.umax(i128 %a, i128 %b) nounwind {
  %wins = icmp ugt i128 %a, %b
  %result = select i1 %wins, i128 %a, i128 %b
  ret i128 %result
}

define i128 @schism.wide.umin(i128 %a, i128 %b) nounwind {
  %wins = icmp ult i128 %a, %b
  %result = select i1 %wins, i128 %a, i128 %b
  ret i128 %result
}

define i128 @schism.wide.scmp(i128 %a, i128 %b) nounwind {
  %less = icmp slt i128 %a, %b
  %greater = icmp sgt i128 %a, %b
  %other = select i1 %greater, i128 1, i128 0
  %result = select i1 %less, i128 -1, i128 %other
  ret i128 %result
}

define i128 @schism.wide.ucmp(i128 %a, i128 %b) nounwind {
  %less = icmp ult i128 %a, %b
  %greater = icmp ugt i128 %a, %b
  %other = select i1 %greater, i128 1, i128 0
  %result = select i1 %less, i128 -1, i128 %other
  ret i128 %result
}

define { i128, i1 } @schism.wide.uadd.with.overflow(i128 %a, i128 %b) nounwind {
  %sum = add i128 %a, %b
  %lost = icmp ult i128 %sum, %a
  %first = insertvalue { i128, i1 } poison, i128 %sum, 0
  %both = insertvalue { i128, i1 } %first, i1 %lost, 1
  ret { i128, i1 } %both
}

define { i128, i1 } @schism.wide.usub.with.overflow(i128 %a, i128 %b) nounwind {
  %difference = sub i128 %a, %b
  %lost = icmp ult i128 %a, %b
  %first = insertvalue { i128, i1 } poison, i128 %difference, 0
  %both = insertvalue { i128, i1 } %first, i1 %lost, 1
  ret { i128, i1 } %both
}

; The sign is wrong if it is neither operand's.
define { i128, i1 } @schism.wide.sadd.with.overflow(i128 %a, i128 %b) nounwind {
  %sum = add i128 %a, %b
  %from.a = xor i128 %a, %sum
  %from.b = xor i128 %b, %sum
  %signs = and i128 %from.a, %from.b
  %lost = icmp slt i128 %signs, 0
  %first = insertvalue { i128, i1 } poison, i128 %sum, 0
  %both = insertvalue { i128, i1 } %first, i1 %lost, 1
  ret { i128, i1 } %both
}

define { i128, i1 } @schism.wide.ssub.with.overflow(i128 %a, i128 %b) nounwind {
  %difference = sub i128 %a, %b
  %from.a = xor i128 %a, %difference
  %operands = xor i128 %a, %b
  %signs = and i128 %from.a, %operands
  %lost = icmp slt i128 %signs, 0
  %first = insertvalue { i128, i1 } poison, i128 %difference, 0
  %both = insertvalue { i128, i1 } %first, i1 %lost, 1
  ret { i128, i1 } %both
}

; Of the four products of halves, that of the high ones must be 0, and so must be the high halves
; of the mixed ones, of which at most one is not 0 then.
define { i128, i1 } @schism.wide.umul.with.overflow(i128 %a, i128 %b) nounwind {
  %product = mul i128 %a, %b
  %a.high = lshr i128 %a, 64
  %b.high = lshr i128 %b, 64
  %a.low = and i128 %a, 18446744073709551615
  %b.low = and i128 %b, 18446744073709551615
  %a.is.long = icmp ne i128 %a.high, 0
  %b.is.long = icmp ne i128 %b.high, 0
  %both.long = and i1 %a.is.long, %b.is.long
  %mixed.a = mul i128 %a.high, %b.low
  %mixed.b = mul i128 %a.low, %b.high
  %mixed = or i128 %mixed.a, %mixed.b
  %mixed.high = lshr i128 %mixed, 64
  %mixed.lost = icmp ne i128 %mixed.high, 0
  %low = mul i128 %a.low, %b.low
  %mixed.up = shl i128 %mixed, 64
  %sum = add i128 %low, %mixed.up
  %sum.lost = icmp ult i128 %sum, %low
  %lost.0 = or i1 %both.long, %mixed.lost
  %lost = or i1 %lost.0, %sum.lost
  %first = insertvalue { i128, i1 } poison, i128 %product, 0
  %both = insertvalue { i128, i1 } %first, i1 %lost, 1
  ret { i128, i1 } %both
}

; The product of the magnitudes fits, and has the sign that it must have, or is 0.
define { i128, i1 } @schism.wide.smul.with.overflow(i128 %a, i128 %b) nounwind {
  %product = mul i128 %a, %b
  %a.abs = call i128 @schism.wide.abs(i128 %a)
  %b.abs = call i128 @schism.wide.abs(i128 %b)
  %magnitude = call { i128, i1 } @schism.wide.umul.with.overflow(i128 %a.abs, i128 %b.abs)
  %magnitude.lost = extractvalue { i128, i1 } %magnitude, 1
  %signs = xor i128 %a, %b
  %sign = xor i128 %signs, %product
  %is.wrong = icmp slt i128 %sign, 0
  %is.some = icmp ne i128 %product, 0
  %sign.lost = and i1 %is.wrong, %is.some
  %lost = or i1 %magnitude.lost, %sign.lost
  %first = insertvalue { i128, i1 } poison, i128 %product, 0
  %both = insertvalue { i128, i1 } %first, i1 %lost, 1
  ret { i128, i1 } %both
}

define i128 @schism.wide.uadd.sat(i128 %a, i128 %b) nounwind {
  %sum = add i128 %a, %b
  %lost = icmp ult i128 %sum, %a
  %result = select i1 %lost, i128 -1, i128 %sum
  ret i128 %result
}

define i128 @schism.wide.usub.sat(i128 %a, i128 %b) nounwind {
  %difference = sub i128 %a, %b
  %lost = icmp ult i128 %a, %b
  %result = select i1 %lost, i128 0, i128 %difference
  ret i128 %result
}

define i128 @schism.wide.sadd.sat(i128 %a, i128 %b) nounwind {
  %both = call { i128, i1 } @schism.wide.sadd.with.overflow(i128 %a, i128 %b)
  %exact = extractvalue { i128, i1 } %both, 0
  %lost = extractvalue { i128, i1 } %both, 1
  ; The sign that the result should have is that of the first operand.
  %sign = ashr i128 %a, 127
  %limit = xor i128 %sign, 170141183460469231731687303715884105727
  %result = select i1 %lost, i128 %limit, i128 %exact
  ret i128 %result
}

define i128 @schism.wide.ssub.sat(i128 %a, i128 %b) nounwind {
  %both = call { i128, i1 } @schism.wide.ssub.with.overflow(i128 %a, i128 %b)
  %exact = extractvalue { i128, i1 } %both, 0
  %lost = extractvalue { i128, i1 } %both, 1
  ; The sign that the result should have is that of the first operand.
  %sign = ashr i128 %a, 127
  %limit = xor i128 %sign, 170141183460469231731687303715884105727
  %result = select i1 %lost, i128 %limit, i128 %exact
  ret i128 %result
}

define i128 @schism.wide.fshl(i128 %a, i128 %b, i128 %count) nounwind {
  %by = and i128 %count, 127
  %rest = xor i128 %by, 127
  %up = shl i128 %a, %by
  %half = lshr i128 %b, 1
  %down = lshr i128 %half, %rest
  %result = or i128 %up, %down
  ret i128 %result
}

define i128 @schism.wide.fshr(i128 %a, i128 %b, i128 %count) nounwind {
  %by = and i128 %count, 127
  %rest = xor i128 %by, 127
  %double = shl i128 %a, 1
  %up = shl i128 %double, %rest
  %down = lshr i128 %b, %by
  %result = or i128 %up, %down
  ret i128 %result
}

; The highest 64 bits, the last of which says whether anything is below them, are rounded as they
; are, and scaled, which is exact.
define float @schism.wide.uitofp.f32(i128 %a) nounwind {
start:
  %is.zero = icmp eq i128 %a, 0
  br i1 %is.zero, label %zero, label %some
zero:
  ret float 0.0
some:
  %zeros = call i128 @schism.wide.ctlz(i128 %a)
  %up = shl i128 %a, %zeros
  %high.wide = lshr i128 %up, 64
  %high = trunc i128 %high.wide to i64
  %low = trunc i128 %up to i64
  %is.more = icmp ne i64 %low, 0
  %more = zext i1 %is.more to i64
  %top = or i64 %high, %more
  %number = uitofp i64 %top to float
  %zeros.32 = trunc i128 %zeros to i32
  %exponent = sub i32 191, %zeros.32
  %scale.bits = shl i32 %exponent, 23
  %scale = bitcast i32 %scale.bits to float
  %result = fmul float %number, %scale
  ret float %result
}

define float @schism.wide.sitofp.f32(i128 %a) nounwind {
  %magnitude = call i128 @schism.wide.abs(i128 %a)
  %number = call float @schism.wide.uitofp.f32(i128 %magnitude)
  %minus = fneg float %number
  %is.negative = icmp slt i128 %a, 0
  %result = select i1 %is.negative, float %minus, float %number
  ret float %result
}

; Of a number that fits: its bits, moved to where its exponent says.
define i128 @schism.wide.fptoui.f32(float %a) nounwind {
start:
  %bits = bitcast float %a to i32
  %exponent.0 = lshr i32 %bits, 23
  %exponent = and i32 %exponent.0, 255
  %fraction = and i32 %bits, 8388607
  %digits = or i32 %fraction, 8388608
  %is.small = icmp ult i32 %exponent, 127
  br i1 %is.small, label %zero, label %some
zero:
  ret i128 0
some:
  %wide = zext i32 %digits to i128
  %power.0 = zext i32 %exponent to i128
  %is.large = icmp ugt i32 %exponent, 150
  br i1 %is.large, label %up, label %down
up:
  %up.0 = sub i128 %power.0, 150
  %up.by = and i128 %up.0, 127
  %larger = shl i128 %wide, %up.by
  ret i128 %larger
down:
  %down.by = sub i128 150, %power.0
  %smaller = lshr i128 %wide, %down.by
  ret i128 %smaller
}

define i128 @schism.wide.fptosi.f32(float %a) nounwind {
  %magnitude = call i128 @schism.wide.fptoui.f32(float %a)
  %minus = sub i128 0, %magnitude
  %is.negative = fcmp olt float %a, 0.0
  %result = select i1 %is.negative, i128 %minus, i128 %magnitude
  ret i128 %result
}

define i128 @schism.wide.fptoui.sat.f32(float %a) nounwind {
  %is.positive = fcmp ogt float %a, 0.0
  %is.large = fcmp oge float %a, 0x7FF0000000000000
  %number = call i128 @schism.wide.fptoui.f32(float %a)
  %or.last = select i1 %is.large, i128 -1, i128 %number
  %result = select i1 %is.positive, i128 %or.last, i128 0
  ret i128 %result
}

define i128 @schism.wide.fptosi.sat.f32(float %a) nounwind {
  %is.large = fcmp oge float %a, 0x47E0000000000000
  %is.small = fcmp olt float %a, 0xC7E0000000000000
  %is.nan = fcmp uno float %a, 0.0
  %number = call i128 @schism.wide.fptosi.f32(float %a)
  %or.last = select i1 %is.large, i128 170141183460469231731687303715884105727, i128 %number
  %or.first = select i1 %is.small, i128 -170141183460469231731687303715884105728, i128 %or.last
  %result = select i1 %is.nan, i128 0, i128 %or.first
  ret i128 %result
}

; The highest 64 bits, the last of which says whether anything is below them, are rounded as they
; are, and scaled, which is exact.
define double @schism.wide.uitofp.f64(i128 %a) nounwind {
start:
  %is.zero = icmp eq i128 %a, 0
  br i1 %is.zero, label %zero, label %some
zero:
  ret double 0.0
some:
  %zeros = call i128 @schism.wide.ctlz(i128 %a)
  %up = shl i128 %a, %zeros
  %high.wide = lshr i128 %up, 64
  %high = trunc i128 %high.wide to i64
  %low = trunc i128 %up to i64
  %is.more = icmp ne i64 %low, 0
  %more = zext i1 %is.more to i64
  %top = or i64 %high, %more
  %number = uitofp i64 %top to double
  %zeros.64 = trunc i128 %zeros to i64
  %exponent = sub i64 1087, %zeros.64
  %scale.bits = shl i64 %exponent, 52
  %scale = bitcast i64 %scale.bits to double
  %result = fmul double %number, %scale
  ret double %result
}

define double @schism.wide.sitofp.f64(i128 %a) nounwind {
  %magnitude = call i128 @schism.wide.abs(i128 %a)
  %number = call double @schism.wide.uitofp.f64(i128 %magnitude)
  %minus = fneg double %number
  %is.negative = icmp slt i128 %a, 0
  %result = select i1 %is.negative, double %minus, double %number
  ret double %result
}

; Of a number that fits: its bits, moved to where its exponent says.
define i128 @schism.wide.fptoui.f64(double %a) nounwind {
start:
  %bits = bitcast double %a to i64
  %exponent.0 = lshr i64 %bits, 52
  %exponent = and i64 %exponent.0, 2047
  %fraction = and i64 %bits, 4503599627370495
  %digits = or i64 %fraction, 4503599627370496
  %is.small = icmp ult i64 %exponent, 1023
  br i1 %is.small, label %zero, label %some
zero:
  ret i128 0
some:
  %wide = zext i64 %digits to i128
  %power.0 = zext i64 %exponent to i128
  %is.large = icmp ugt i64 %exponent, 1075
  br i1 %is.large, label %up, label %down
up:
  %up.0 = sub i128 %power.0, 1075
  %up.by = and i128 %up.0, 127
  %larger = shl i128 %wide, %up.by
  ret i128 %larger
down:
  %down.by = sub i128 1075, %power.0
  %smaller = lshr i128 %wide, %down.by
  ret i128 %smaller
}

define i128 @schism.wide.fptosi.f64(double %a) nounwind {
  %magnitude = call i128 @schism.wide.fptoui.f64(double %a)
  %minus = sub i128 0, %magnitude
  %is.negative = fcmp olt double %a, 0.0
  %result = select i1 %is.negative, i128 %minus, i128 %magnitude
  ret i128 %result
}

define i128 @schism.wide.fptoui.sat.f64(double %a) nounwind {
  %is.positive = fcmp ogt double %a, 0.0
  %is.large = fcmp oge double %a, 0x47F0000000000000
  %number = call i128 @schism.wide.fptoui.f64(double %a)
  %or.last = select i1 %is.large, i128 -1, i128 %number
  %result = select i1 %is.positive, i128 %or.last, i128 0
  ret i128 %result
}

define i128 @schism.wide.fptosi.sat.f64(double %a) nounwind {
  %is.large = fcmp oge double %a, 0x47E0000000000000
  %is.small = fcmp olt double %a, 0xC7E0000000000000
  %is.nan = fcmp uno double %a, 0.0
  %number = call i128 @schism.wide.fptosi.f64(double %a)
  %or.last = select i1 %is.large, i128 170141183460469231731687303715884105727, i128 %number
  %or.first = select i1 %is.small, i128 -170141183460469231731687303715884105728, i128 %or.last
  %result = select i1 %is.nan, i128 0, i128 %or.first
  ret i128 %result
}
