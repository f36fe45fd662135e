; Comparisons of 64 bits that are joined have another use; others have none.
; CHECK: define i1 @joined(
; CHECK-NEXT: %a.inside = icmp ult i64 %a, %len
; CHECK-NEXT: call void asm sideeffect "", "b"(i1 %a.inside)
; CHECK-NEXT: %b.inside = icmp ult i64 %b, %len
; CHECK-NEXT: call void asm sideeffect "", "b"(i1 %b.inside)
; CHECK-NEXT: %both = select i1 %a.inside, i1 %b.inside, i1 false
; CHECK-NEXT: ret i1 %both
define i1 @joined(i64 %a, i64 %b, i64 %len) {
  %a.inside = icmp ult i64 %a, %len
  %b.inside = icmp ult i64 %b, %len
  %both = select i1 %a.inside, i1 %b.inside, i1 false
  ret i1 %both
}

; CHECK: define i1 @others(
; CHECK-NOT: asm
; CHECK: }
define i1 @others(i64 %a, i64 %b, i32 %x, i32 %y) {
  %same = icmp eq i64 %a, %b
  %less = icmp ult i32 %x, %y
  %either = or i1 %same, %less
  %chosen = icmp ult i64 %a, %b
  %least = select i1 %chosen, i64 %a, i64 %b
  %small = icmp ult i64 %least, 3
  br i1 %small, label %one, label %other
one:
  ret i1 %either
other:
  ret i1 false
}
; CHECK: memory(inaccessiblemem: readwrite)
