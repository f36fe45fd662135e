; A check that another check of the iteration before has decided is no state: the loop keeps its header and its checks.
declare void @panic(i64) cold noreturn
define void @kernel(ptr %words) {
start:
  br label %loop
loop:
  %i = phi i64 [ 16, %start ], [ %i.next, %inside.2 ]
  %more = icmp ult i64 %i, 64
  br i1 %more, label %first, label %done
first:
  %i.next = add i64 %i, 1
  %at = add i64 %i, -16
  %is.inside = icmp ult i64 %at, 64
  br i1 %is.inside, label %inside, label %fails
inside:
  %at.2 = add i64 %i, -15
  %is.inside.2 = icmp ult i64 %at.2, 64
  br i1 %is.inside.2, label %inside.2, label %fails
inside.2:
  %from = getelementptr i32, ptr %words, i64 %at
  %from.2 = getelementptr i32, ptr %words, i64 %at.2
  %to = getelementptr i32, ptr %words, i64 %i
  %a = load i32, ptr %from
  %b = load i32, ptr %from.2
  %sum = add i32 %a, %b
  store i32 %sum, ptr %to
  br label %loop
fails:
  %index = phi i64 [ %at, %first ], [ %at.2, %inside ]
  call void @panic(i64 %index)
  unreachable
done:
  ret void
}
; CHECK: loop:
; CHECK: phi i64 [ 16, %start ], [ %i.next, %inside.2 ]
; CHECK: br i1 %more, label %first, label %done
