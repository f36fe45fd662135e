; The inner loop has two forms in each iteration of the outer one; a loaded index stays checked in both.
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
declare void @__schism_barrier() convergent
define i64 @nested(ptr %p, i64 %len, i64 %rows, i64 %width) {
before:
  br label %outer
outer:
  %row = phi i64 [ 0, %before ], [ %row.next, %outer.end ]
  %first = mul i64 %row, %width
  br label %loop
loop:
  %k = phi i64 [ 0, %outer ], [ %k.next, %inside ]
  %at = add i64 %first, %k
  %ok = icmp ult i64 %at, %len
  br i1 %ok, label %second, label %panic
second:
  %place = getelementptr i64, ptr %p, i64 %at
  %index = load i64, ptr %place
  %index.ok = icmp ult i64 %index, %len
  br i1 %index.ok, label %inside, label %panic.index
inside:
  %element = getelementptr i64, ptr %p, i64 %index
  store i64 0, ptr %element
  %k.next = add i64 %k, 1
  %last = icmp eq i64 %k.next, %width
  br i1 %last, label %outer.end, label %loop
outer.end:
  %row.next = add i64 %row, 1
  %done = icmp eq i64 %row.next, %rows
  br i1 %done, label %end, label %outer
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
panic.index:
  call void @__schism_panic(ptr null, i64 %index, ptr null)
  unreachable
end:
  ret i64 %row.next
}
; CHECK: outer:
; CHECK: @llvm.uadd.with.overflow.i64
; CHECK: br i1 {{.*}}, label %loop, label
; CHECK: loop:
; CHECK: br label %second
; CHECK: second:
; CHECK: br i1 %index.ok, label %inside, label %panic.index
; CHECK: icmp ult i64 {{.*}}, %len
; CHECK: br i1 {{.*}}, label {{.*}}, label %panic
; CHECK: br i1 {{.*}}, label {{.*}}, label %panic.index
