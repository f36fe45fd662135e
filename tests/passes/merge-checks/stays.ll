; What is loaded cannot be decided before; a barrier, and a panic that others share, end a group.
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
declare void @__schism_barrier() convergent
define i64 @loaded(ptr %p, i64 %len, i64 %a) {
first:
  %a.inside = icmp ult i64 %a, %len
  br i1 %a.inside, label %second, label %panic.a
second:
  %a.place = getelementptr i64, ptr %p, i64 %a
  %b = load i64, ptr %a.place
  %b.inside = icmp ult i64 %b, %len
  br i1 %b.inside, label %third, label %panic.b
third:
  ret i64 %b
panic.a:
  call void @__schism_panic(ptr null, i64 %a, ptr null)
  unreachable
panic.b:
  call void @__schism_panic(ptr null, i64 %b, ptr null)
  unreachable
}
define void @barrier(ptr %p, i64 %len, i64 %a, i64 %b) {
first:
  %a.inside = icmp ult i64 %a, %len
  br i1 %a.inside, label %second, label %panic.a
second:
  store i64 0, ptr %p
  call void @__schism_barrier()
  %b.inside = icmp ult i64 %b, %len
  br i1 %b.inside, label %third, label %panic.b
third:
  ret void
panic.a:
  call void @__schism_panic(ptr null, i64 %a, ptr null)
  unreachable
panic.b:
  call void @__schism_panic(ptr null, i64 %b, ptr null)
  unreachable
}
define void @shared(ptr %p, i64 %len, i64 %a, i64 %b, i1 %other) {
before:
  switch i1 %other, label %first [ i1 false, label %panic ]
first:
  %a.inside = icmp ult i64 %a, %len
  br i1 %a.inside, label %second, label %panic
second:
  store i64 0, ptr %p
  %b.inside = icmp ult i64 %b, %len
  br i1 %b.inside, label %third, label %panic
third:
  ret void
panic:
  %index = phi i64 [ 0, %before ], [ %a, %first ], [ %b, %second ]
  call void @__schism_panic(ptr null, i64 %index, ptr null)
  unreachable
}
declare void @rare() cold
define i64 @comes_back(ptr %p, i64 %len, i64 %a, i64 %b) {
first:
  %a.inside = icmp ult i64 %a, %len
  br i1 %a.inside, label %second, label %panic
second:
  %value = load i64, ptr %p
  %b.inside = icmp ult i64 %b, %len
  br i1 %b.inside, label %third, label %odd
third:
  store i64 0, ptr %p
  br label %end
odd:
  call void @rare()
  br label %end
end:
  ret i64 %value
panic:
  call void @__schism_panic(ptr null, i64 %a, ptr null)
  unreachable
}
; CHECK: define i64 @loaded
; CHECK: br i1 %a.inside, label %second, label %panic.a
; CHECK: br i1 %b.inside, label %third, label %panic.b
; CHECK: define void @barrier
; CHECK: br i1 %a.inside, label %second, label %panic.a
; CHECK: br i1 %b.inside, label %third, label %panic.b
; CHECK: define void @shared
; CHECK: before:
; CHECK: br i1 %a.inside, label %second, label %panic
; CHECK: br i1 %b.inside, label %third, label %panic
; CHECK: define i64 @comes_back
; CHECK: br i1 %a.inside, label %second, label %panic
; CHECK: br i1 %b.inside, label %third, label %odd
