; The begin and the end of a row, and its length, which is computed between the checks. In the other kernel something is loaded in between.
@__schism_bailout.0 = external addrspace(3) global i32
declare void @use(i64)
define void @row(i64 %begin, i64 %end, i64 %len, i32 %group) {
entry:
  %begin.fails = icmp ult i64 %end, %begin
  br i1 %begin.fails, label %failed, label %second
second:
  %n = sub nuw i64 %end, %begin
  %end.inside = icmp ule i64 %end, %len
  br i1 %end.inside, label %inside, label %failed
inside:
  %left = phi i64 [ %n, %second ]
  call void @use(i64 %left)
  ret void
failed:
  store i32 %group, ptr addrspace(3) @__schism_bailout.0
  br label %meet
meet:
  ret void
}
define void @loads(ptr %at, i64 %len, i32 %group) {
entry:
  %null = icmp eq i64 %len, 0
  br i1 %null, label %failed, label %second
second:
  %index = load i64, ptr %at
  %fails = icmp uge i64 %index, %len
  br i1 %fails, label %failed, label %inside
inside:
  call void @use(i64 %index)
  ret void
failed:
  store i32 %group, ptr addrspace(3) @__schism_bailout.0
  br label %meet
meet:
  ret void
}
; CHECK: %1 = icmp ule i64 %end, %len
; CHECK-NEXT: %2 = xor i1 %1, true
; CHECK-NEXT: %3 = select i1 %begin.fails, i1 true, i1 %2
; CHECK-NEXT: br i1 %3, label %failed, label %inside
; CHECK: phi i64 [ %0, %entry ]
; CHECK: @loads
; CHECK: br i1 %null, label %failed, label %second
; CHECK: br i1 %fails, label %failed, label %inside
