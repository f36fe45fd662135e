; SPEC fast-math: relaxed
; Every operation that can round gets the flags, and keeps those that it has; others get none.
define float @f(float %a, float %b, i32 %n, ptr %p) {
  %sum = fadd float %a, %b
  %product = fmul nnan float %sum, %a
  %less = fcmp olt float %product, %b
  %one = select i1 %less, float %a, float %b
  %root = call float @llvm.sqrt.f32(float %one)
  %int = add i32 %n, 1
  %number = load float, ptr %p
  ret float %root
}
declare float @llvm.sqrt.f32(float)
; CHECK: %sum = fadd reassoc nsz arcp contract afn float %a, %b
; CHECK-NEXT: %product = fmul reassoc nnan nsz arcp contract afn float %sum, %a
; CHECK-NEXT: %less = fcmp reassoc nsz arcp contract afn olt float %product, %b
; CHECK-NEXT: %one = select reassoc nsz arcp contract afn i1 %less, float %a, float %b
; CHECK-NEXT: %root = call reassoc nsz arcp contract afn float @llvm.sqrt.f32(float %one)
; CHECK-NEXT: %int = add i32 %n, 1
; CHECK-NEXT: %number = load float, ptr %p
