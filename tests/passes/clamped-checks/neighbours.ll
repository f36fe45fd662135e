; Checks of indices that are clamped to the same sizes become one comparison of the sizes; all others are made where it does not hold.
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.usub.sat.i64(i64, i64)
declare void @panic() cold noreturn

define float @neighbours(ptr %from, i64 %len, i64 %side, i32 %y32, i32 %x32) {
  %last = add i64 %side, -1
  %y = zext i32 %y32 to i64
  %x = zext i32 %x32 to i64
  %tid = call i32 @id()
  %own = zext i32 %tid to i64
  %left = call i64 @llvm.usub.sat.i64(i64 %own, i64 1)
  %left.in = call i64 @llvm.umin.i64(i64 %left, i64 %last)
  %right = add i64 %own, 1
  %right.in = call i64 @llvm.umin.i64(i64 %right, i64 %last)
  %row = call i64 @llvm.umin.i64(i64 %own, i64 %last)
  %row.first = mul i64 %row, %side
  %a = add i64 %row.first, %left.in
  %b = add i64 %row.first, %right.in
  %a.inside = icmp ult i64 %a, %len
  %b.inside = icmp ult i64 %b, %len
  %both = select i1 %a.inside, i1 %b.inside, i1 false
  br i1 %both, label %go, label %failed
go:
  %a.at = getelementptr float, ptr %from, i64 %a
  %b.at = getelementptr float, ptr %from, i64 %b
  %a.value = load float, ptr %a.at
  %b.value = load float, ptr %b.at
  %sum = fadd float %a.value, %b.value
  ret float %sum
failed:
  call void @panic()
  unreachable
}

; An index that is not clamped is still compared, and what is not bounded at all keeps its check alone.
define float @one_more(ptr %from, i64 %len, i64 %side) {
  %last = add i64 %side, -1
  %tid = call i32 @id()
  %own = zext i32 %tid to i64
  %a = call i64 @llvm.umin.i64(i64 %own, i64 %last)
  %next = add i64 %own, 1
  %b = call i64 @llvm.umin.i64(i64 %next, i64 %last)
  %a.inside = icmp ult i64 %a, %len
  %b.inside = icmp ult i64 %b, %len
  %own.inside = icmp ult i64 %own, %len
  %two = select i1 %a.inside, i1 %b.inside, i1 false
  %all = select i1 %two, i1 %own.inside, i1 false
  br i1 %all, label %go, label %failed
go:
  %a.at = getelementptr float, ptr %from, i64 %a
  %a.value = load float, ptr %a.at
  ret float %a.value
failed:
  call void @panic()
  unreachable
}

declare i32 @id()
; CHECK: define float @neighbours
; CHECK: icmp ult i64 %last, 2147483648
; CHECK: icmp ult i64 %side, 2147483648
; CHECK: br i1 {{.*}}, label %go, label %
; CHECK: = icmp ult i64 {{.*}}, %len
; CHECK: br i1 {{.*}}, label %go, label %failed
; CHECK: go:
; CHECK: call i64 @llvm.usub.sat.i64
; CHECK: load float
; CHECK: define float @one_more
; CHECK: %own.inside = icmp ult i64 %own, %len
; CHECK: = select i1 {{.*}}, i1 %own.inside, i1 false
