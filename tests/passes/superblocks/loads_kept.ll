; Loads stay after what may change their memory, and where no root or quotient of 64 bits comes before them.
declare double @llvm.sqrt.f64(double)
declare double @other(double)

define double @memory_changes(ptr addrspace(1) %a, ptr addrspace(1) %b, double %x) {
  %root = call double @llvm.sqrt.f64(double %x)
  store double %root, ptr addrspace(1) %a, align 8
  %stored = load double, ptr addrspace(1) %b, align 8
  %first = fdiv double %stored, %x
  %seen = load atomic i64, ptr addrspace(1) %a acquire, align 8
  %acquired = load double, ptr addrspace(1) %b, align 8
  %second = fdiv double %acquired, %first
  %call = call double @other(double %second)
  %called = load double, ptr addrspace(1) %b, align 8
  %sum = fadd double %called, %call
  ret double %sum
}

define float @short(ptr addrspace(1) %a, i32 %x, i32 %y) {
  %quotient = udiv i32 %x, %y
  %half = udiv i64 77, 2
  %value = load float, ptr addrspace(1) %a, align 4
  ret float %value
}

; BLESS: the output, line by line
; CHECK: ; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
; CHECK-NEXT: declare double @llvm.sqrt.f64(double) #0
; CHECK-EMPTY:
; CHECK-NEXT: declare double @other(double)
; CHECK-EMPTY:
; CHECK-NEXT: define double @memory_changes(ptr addrspace(1) %a, ptr addrspace(1) %b, double %x) {
; CHECK-NEXT: %root = call double @llvm.sqrt.f64(double %x)
; CHECK-NEXT: store double %root, ptr addrspace(1) %a, align 8
; CHECK-NEXT: %stored = load double, ptr addrspace(1) %b, align 8
; CHECK-NEXT: %first = fdiv double %stored, %x
; CHECK-NEXT: %seen = load atomic i64, ptr addrspace(1) %a acquire, align 8
; CHECK-NEXT: %acquired = load double, ptr addrspace(1) %b, align 8
; CHECK-NEXT: %second = fdiv double %acquired, %first
; CHECK-NEXT: %call = call double @other(double %second)
; CHECK-NEXT: %called = load double, ptr addrspace(1) %b, align 8
; CHECK-NEXT: %sum = fadd double %called, %call
; CHECK-NEXT: ret double %sum
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: define float @short(ptr addrspace(1) %a, i32 %x, i32 %y) {
; CHECK-NEXT: %quotient = udiv i32 %x, %y
; CHECK-NEXT: %half = udiv i64 77, 2
; CHECK-NEXT: %value = load float, ptr addrspace(1) %a, align 4
; CHECK-NEXT: ret float %value
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: attributes #0 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
; CHECK-NEXT: end of violations
