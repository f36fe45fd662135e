; Assembly that is no marker, in a loop.
define void @f(i64 %n) {
start:
  br label %loop
loop:
  %k = phi i64 [ 0, %start ], [ %next, %loop ]
  call void asm sideeffect "nop", ""()
  %next = add i64 %k, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %end, label %loop
end:
  ret void
}

; BLESS: the output, line by line
; CHECK: define void @f(i64 %n) {
; CHECK-NEXT: start:
; CHECK-NEXT: br label %loop
; CHECK-EMPTY:
; CHECK-NEXT: loop: ; preds = %loop, %start
; CHECK-NEXT: %k = phi i64 [ 0, %start ], [ %next, %loop ]
; CHECK-NEXT: call void asm sideeffect "nop", ""()
; CHECK-NEXT: %next = add i64 %k, 1
; CHECK-NEXT: %done = icmp eq i64 %next, %n
; CHECK-NEXT: br i1 %done, label %end, label %loop
; CHECK-EMPTY:
; CHECK-NEXT: end: ; preds = %loop
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-NEXT: end of violations
