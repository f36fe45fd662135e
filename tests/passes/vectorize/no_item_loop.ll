; SPEC lanes: 256 8
; A loop that is not over work-items.
define void @f(ptr %p, i64 %n) {
start:
  br label %loop
loop:
  %k = phi i64 [ 0, %start ], [ %next, %loop ]
  %at = getelementptr float, ptr %p, i64 %k
  store float 1.0, ptr %at, align 4
  %next = add i64 %k, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %end, label %loop
end:
  ret void
}

; BLESS: the output, line by line
; CHECK: define void @f(ptr %p, i64 %n) {
; CHECK-NEXT: start:
; CHECK-NEXT: br label %loop
; CHECK-EMPTY:
; CHECK-NEXT: loop: ; preds = %loop, %start
; CHECK-NEXT: %k = phi i64 [ 0, %start ], [ %next, %loop ]
; CHECK-NEXT: %at = getelementptr float, ptr %p, i64 %k
; CHECK-NEXT: store float 1.000000e+00, ptr %at, align 4
; CHECK-NEXT: %next = add i64 %k, 1
; CHECK-NEXT: %done = icmp eq i64 %next, %n
; CHECK-NEXT: br i1 %done, label %end, label %loop
; CHECK-EMPTY:
; CHECK-NEXT: end: ; preds = %loop
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-NEXT: end of violations
