; SPEC target: nvptx64-nvidia-cuda
; What a GPU computes exactly by itself.
declare double @llvm.sqrt.f64(double)
declare double @llvm.fma.f64(double, double, double)
define double @f(double %x) {
  %sqrt = call double @llvm.sqrt.f64(double %x)
  %fma = call double @llvm.fma.f64(double %sqrt, double %x, double %x)
  ret double %fma
}

; BLESS: the output, line by line
; CHECK: ; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
; CHECK-NEXT: declare double @llvm.sqrt.f64(double) #0
; CHECK-EMPTY:
; CHECK-NEXT: ; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
; CHECK-NEXT: declare double @llvm.fma.f64(double, double, double) #0
; CHECK-EMPTY:
; CHECK-NEXT: define double @f(double %x) {
; CHECK-NEXT: %sqrt = call double @llvm.sqrt.f64(double %x)
; CHECK-NEXT: %fma = call double @llvm.fma.f64(double %sqrt, double %x, double %x)
; CHECK-NEXT: ret double %fma
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: attributes #0 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
; CHECK-NEXT: end of violations
