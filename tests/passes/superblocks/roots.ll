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
