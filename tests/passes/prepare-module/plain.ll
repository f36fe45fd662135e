; Attributes that mean the same to every code generator.
define void @f(ptr noalias readonly %p) nounwind {
  call void @g()
  ret void
}
declare void @g() cold nounwind

; BLESS: the output, line by line
; CHECK: ; Function Attrs: nounwind
; CHECK-NEXT: define void @f(ptr noalias readonly %p) #0 {
; CHECK-NEXT: call void @g()
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: ; Function Attrs: cold nounwind
; CHECK-NEXT: declare void @g() #1
; CHECK-EMPTY:
; CHECK-NEXT: attributes #0 = { nounwind }
; CHECK-NEXT: attributes #1 = { cold nounwind }
; CHECK-NEXT: end of violations
