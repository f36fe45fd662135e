; Functions that are in no image: the maths library's, and what the code generator itself calls.

declare float @sinf(float)
declare double @pow(double, double)
declare double @llvm.exp.f64(double)
declare double @llvm.fma.f64(double, double, double)
declare double @llvm.fmuladd.f64(double, double, double)

; out[i] = {sin, pow, exp, remainder, fma} of in[i]
define void @maths(ptr %out, ptr %in) {
start:
  %i = call i64 @__schism_global_id_x()
  %at = getelementptr inbounds double, ptr %in, i64 %i
  %v = load double, ptr %at, align 8
  %out.at = getelementptr inbounds [5 x double], ptr %out, i64 %i
  %f = fptrunc double %v to float
  %s = call float @sinf(float %f)
  %s.wide = fpext float %s to double
  store double %s.wide, ptr %out.at, align 8
  %p = call double @pow(double %v, double 1.5)
  %out1 = getelementptr inbounds double, ptr %out.at, i64 1
  store double %p, ptr %out1, align 8
  %e = call double @llvm.exp.f64(double %v)
  %out2 = getelementptr inbounds double, ptr %out.at, i64 2
  store double %e, ptr %out2, align 8
  %r = frem double %v, 7.500000e-01
  %out3 = getelementptr inbounds double, ptr %out.at, i64 3
  store double %r, ptr %out3, align 8
  %m = call double @llvm.fma.f64(double %v, double %v, double 1.000000e-01)
  %out4 = getelementptr inbounds double, ptr %out.at, i64 4
  store double %m, ptr %out4, align 8
  ret void
}

; 128-bit division and conversion are calls in machine code.
define void @wide(ptr %out, i128 %a, i128 %b) {
start:
  %q = sdiv i128 %a, %b
  store i128 %q, ptr %out, align 8
  %r = urem i128 %a, %b
  %at16 = getelementptr inbounds i8, ptr %out, i64 16
  store i128 %r, ptr %at16, align 8
  %d = sitofp i128 %a to double
  %at32 = getelementptr inbounds i8, ptr %out, i64 32
  store double %d, ptr %at32, align 8
  %back = fptosi double %d to i128
  %at40 = getelementptr inbounds i8, ptr %out, i64 40
  store i128 %back, ptr %at40, align 8
  ret void
}

define void @half(ptr %out, half %h) {
start:
  %f = fpext half %h to float
  %g = fmul float %f, 3.000000e+00
  %r = fptrunc float %g to half
  store half %r, ptr %out, align 2
  ret void
}

; A copy large enough to be a call.
define void @copy(ptr %to, ptr %from, i64 %len) {
start:
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %len, i1 false)
  ret void
}

declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)

; a * b + c, all the ways that could be made one operation but must not be.
define void @unfused(ptr %out, ptr %in) {
start:
  %i = call i64 @__schism_global_id_x()
  %at = getelementptr inbounds [3 x double], ptr %in, i64 %i
  %a = load double, ptr %at, align 8
  %b.at = getelementptr inbounds double, ptr %at, i64 1
  %b = load double, ptr %b.at, align 8
  %c.at = getelementptr inbounds double, ptr %at, i64 2
  %c = load double, ptr %c.at, align 8
  %product = fmul double %a, %b
  %sum = fadd double %product, %c
  %to = getelementptr inbounds [2 x double], ptr %out, i64 %i
  store double %sum, ptr %to, align 8
  %second = call double @llvm.fmuladd.f64(double %a, double %b, double %c)
  %to2 = getelementptr inbounds double, ptr %to, i64 1
  store double %second, ptr %to2, align 8
  ret void
}
