; Nobody knows the step, and whether the index wraps: but each iteration begins below the limit, so no check fails if the limit is at most
; the length and the first index is below the limit.
declare void @panic() cold noreturn
define void @strided(ptr %p, i64 %len, i64 %limit, i64 %first, i64 %step) {
before:
  br label %loop
loop:
  %k = phi i64 [ %first, %before ], [ %k.next, %inside ]
  %is.inside = icmp ult i64 %k, %len
  br i1 %is.inside, label %inside, label %bad
inside:
  %at = getelementptr i64, ptr %p, i64 %k
  store i64 1, ptr %at
  %k.next = add i64 %k, %step
  %more = icmp ult i64 %k.next, %limit
  br i1 %more, label %loop, label %done
done:
  ret void
bad:
  call void @panic()
  unreachable
}
; CHECK: before:
; CHECK: icmp ule i64
; CHECK: icmp ult i64
; CHECK: br i1 {{.*}}, label %loop
; CHECK: loop:
; CHECK: br label %inside
; CHECK: !{!"schism.checked"}
