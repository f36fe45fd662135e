; Loads come before the roots and quotients of their block, with their addresses; not before a store, an atomic load, a call that may do anything, or what their address needs.
declare double @llvm.sqrt.f64(double)
declare double @llvm.fabs.f64(double)
declare double @other(double)

define double @prices(ptr addrspace(1) %contracts, i64 %index) {
  %years.at = getelementptr i8, ptr addrspace(1) %contracts, i64 16
  %years = load double, ptr addrspace(1) %years.at, align 8
  %size = call double @llvm.fabs.f64(double %years)
  %root = call double @llvm.sqrt.f64(double %size)
  %offset = shl i64 %index, 3
  %price.at = getelementptr i8, ptr addrspace(1) %contracts, i64 %offset
  %price = load double, ptr addrspace(1) %price.at, align 8
  %strike = load double, ptr addrspace(1) %contracts, align 8
  %ratio = fdiv double %price, %strike
  %sum = fadd double %ratio, %root
  ret double %sum
}
; CHECK-LABEL: @prices
; CHECK: %years = load
; CHECK-NEXT: %size = call
; CHECK-NEXT: = shl i64 %index, 3
; CHECK-NEXT: = getelementptr i8
; CHECK-NEXT: = load double
; CHECK-NEXT: = load double, ptr addrspace(1) %contracts
; CHECK-NEXT: %root = call
; CHECK-NEXT: %ratio = fdiv

define i64 @index_of_quotient(ptr addrspace(1) %table, i64 %a, i64 %b) {
  %quotient = udiv i64 %a, %b
  %at = getelementptr i64, ptr addrspace(1) %table, i64 %quotient
  %needs = load i64, ptr addrspace(1) %at, align 8
  %free = load i64, ptr addrspace(1) %table, align 8
  %sum = add i64 %needs, %free
  ret i64 %sum
}
; CHECK-LABEL: @index_of_quotient
; CHECK: = load i64, ptr addrspace(1) %table
; CHECK-NEXT: %quotient = udiv
; CHECK-NEXT: %at = getelementptr
; CHECK-NEXT: %needs = load

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
; CHECK-LABEL: @memory_changes
; CHECK: %root = call
; CHECK-NEXT: store double %root
; CHECK-NEXT: %stored = load
; CHECK-NEXT: %first = fdiv
; CHECK-NEXT: %seen = load atomic
; CHECK-NEXT: %acquired = load
; CHECK-NEXT: %second = fdiv
; CHECK-NEXT: %call = call
; CHECK-NEXT: %called = load

define float @short(ptr addrspace(1) %a, i32 %x, i32 %y) {
  %quotient = udiv i32 %x, %y
  %half = udiv i64 77, 2
  %value = load float, ptr addrspace(1) %a, align 4
  ret float %value
}
; CHECK-LABEL: @short
; CHECK: %quotient = udiv i32
; CHECK: %value = load
