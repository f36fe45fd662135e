; What a volatile load gives cannot be checked before the loop.
define i32 @f(ptr %p, ptr %index, i64 %n, i64 %len) {
start:
  br label %loop
loop:
  %k = phi i64 [ 0, %start ], [ %next, %good ]
  %i.at = getelementptr i64, ptr %index, i64 %k
  %i = load volatile i64, ptr %i.at
  %in = icmp ult i64 %i, %len
  br i1 %in, label %good, label %bad
good:
  %at = getelementptr i32, ptr %p, i64 %i
  store i32 1, ptr %at
  %next = add nuw i64 %k, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret i32 0
bad:
  call void @panic()
  unreachable
}
declare void @panic() cold noreturn

; BLESS: the output, line by line
; CHECK: define i32 @f(ptr %p, ptr %index, i64 %n, i64 %len) {
; CHECK-NEXT: start:
; CHECK-NEXT: br label %loop
; CHECK-EMPTY:
; CHECK-NEXT: loop: ; preds = %good, %start
; CHECK-NEXT: %k = phi i64 [ 0, %start ], [ %next, %good ]
; CHECK-NEXT: %i.at = getelementptr i64, ptr %index, i64 %k
; CHECK-NEXT: %i = load volatile i64, ptr %i.at, align 4
; CHECK-NEXT: %in = icmp ult i64 %i, %len
; CHECK-NEXT: br i1 %in, label %good, label %bad
; CHECK-EMPTY:
; CHECK-NEXT: good: ; preds = %loop
; CHECK-NEXT: %at = getelementptr i32, ptr %p, i64 %i
; CHECK-NEXT: store i32 1, ptr %at, align 4
; CHECK-NEXT: %next = add nuw i64 %k, 1
; CHECK-NEXT: %more = icmp ult i64 %next, %n
; CHECK-NEXT: br i1 %more, label %loop, label %end
; CHECK-EMPTY:
; CHECK-NEXT: end: ; preds = %good
; CHECK-NEXT: ret i32 0
; CHECK-EMPTY:
; CHECK-NEXT: bad: ; preds = %loop
; CHECK-NEXT: call void @panic()
; CHECK-NEXT: unreachable
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: ; Function Attrs: cold noreturn
; CHECK-NEXT: declare void @panic() #0
; CHECK-EMPTY:
; CHECK-NEXT: attributes #0 = { cold noreturn }
; CHECK-NEXT: end of violations
