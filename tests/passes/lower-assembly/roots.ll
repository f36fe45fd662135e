; The instruction for a root is LLVM's intrinsic; other assembly stays.
define double @kernel(float %x, double %y, i64 %z) {
  %a = call float asm inteldialect "sqrtss ${0}, ${0}", "=&x,0"(float %x)
  %b = call double asm inteldialect "sqrtsd $0, $1", "=x,x"(double %y)
  %c = call double asm inteldialect "sqrtsd xmm0, $0", "=&x,0"(double %b)
  %d = call i64 asm "sqrtsd $0, $0", "=&r,0"(i64 %z)
  %e = call float asm inteldialect "rsqrtss $0, $0", "=&x,0"(float %a)
  ret double %c
}
; CHECK-LABEL: define double @kernel
; CHECK: call float @llvm.sqrt.f32(float %x)
; CHECK: call double @llvm.sqrt.f64(double %y)
; CHECK: call double asm inteldialect "sqrtsd xmm0, $0"
; CHECK: call i64 asm
; CHECK: call float asm inteldialect "rsqrtss $0, $0"
