; SPEC fast-math: finite
; A NaN is a number here, too: with `nnan` it would be poison, and the branch undefined behaviour.
define i32 @f(double %a, double %b, ptr %table) {
  %sum = fadd double %a, %b
  %less = fcmp olt double %sum, 1.0
  br i1 %less, label %yes, label %no
yes:
  %index = call i32 @llvm.fptoui.sat.i32.f64(double %sum)
  %at = getelementptr i32, ptr %table, i32 %index
  %element = load i32, ptr %at
  ret i32 %element
no:
  ret i32 0
}
declare i32 @llvm.fptoui.sat.i32.f64(double)
; CHECK: define i32 @f(
; CHECK-NOT: nnan
; CHECK-NOT: ninf
; CHECK-NOT: fast
; CHECK: %sum = fadd reassoc nsz arcp contract afn double %a, %b
; CHECK-NEXT: %less = fcmp reassoc nsz arcp contract afn olt double %sum, 1.000000e+00
; CHECK-NEXT: br i1 %less
