; Nothing bounds the indices.
declare void @panic() cold noreturn
declare i32 @id()

define float @not_clamped(ptr %from, i64 %len) {
  %tid = call i32 @id()
  %own = zext i32 %tid to i64
  %next = add i64 %own, 1
  %a.inside = icmp ult i64 %own, %len
  %b.inside = icmp ult i64 %next, %len
  %both = select i1 %a.inside, i1 %b.inside, i1 false
  br i1 %both, label %go, label %failed
go:
  %at = getelementptr float, ptr %from, i64 %next
  %value = load float, ptr %at
  ret float %value
failed:
  call void @panic()
  unreachable
}

; BLESS: the output, line by line
; CHECK: ; Function Attrs: cold noreturn
; CHECK-NEXT: declare void @panic() #0
; CHECK-EMPTY:
; CHECK-NEXT: declare i32 @id()
; CHECK-EMPTY:
; CHECK-NEXT: define float @not_clamped(ptr %from, i64 %len) {
; CHECK-NEXT: %tid = call i32 @id()
; CHECK-NEXT: %own = zext i32 %tid to i64
; CHECK-NEXT: %next = add i64 %own, 1
; CHECK-NEXT: %a.inside = icmp ult i64 %own, %len
; CHECK-NEXT: %b.inside = icmp ult i64 %next, %len
; CHECK-NEXT: %both = select i1 %a.inside, i1 %b.inside, i1 false
; CHECK-NEXT: br i1 %both, label %go, label %failed
; CHECK-EMPTY:
; CHECK-NEXT: go: ; preds = %0
; CHECK-NEXT: %at = getelementptr float, ptr %from, i64 %next
; CHECK-NEXT: %value = load float, ptr %at, align 4
; CHECK-NEXT: ret float %value
; CHECK-EMPTY:
; CHECK-NEXT: failed: ; preds = %0
; CHECK-NEXT: call void @panic()
; CHECK-NEXT: unreachable
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: attributes #0 = { cold noreturn }
; CHECK-NEXT: end of violations
