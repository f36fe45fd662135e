; Lengths of ranges that count down, or are 0 where a range has no order: checked once. The body of a sum over indices has such checks.
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
declare i64 @llvm.usub.sat.i64(i64, i64)
define i64 @rest(ptr %p, i64 %end, i64 %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %begin = phi i64 [ 5, %before ], [ %begin.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %rest = call i64 @llvm.usub.sat.i64(i64 %end, i64 %begin)
  %ok = icmp ugt i64 %rest, 127
  br i1 %ok, label %inside, label %panic
inside:
  %place = getelementptr i64, ptr %p, i64 %begin
  %value = load i64, ptr %place
  %sum.next = add i64 %sum, %value
  %begin.next = add i64 %begin, 128
  %k.next = add i64 %k, 1
  %more = icmp ne i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %begin, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
define i64 @chosen(ptr %p, i64 %first, i64 %lane, i64 %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %begin = phi i64 [ %first, %before ], [ %begin.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %is.ordered = icmp ult i64 %begin, -128
  %length = select i1 %is.ordered, i64 128, i64 0
  %bad = icmp ult i64 %length, %lane
  br i1 %bad, label %panic, label %inside
inside:
  %place = getelementptr i64, ptr %p, i64 %begin
  %value = load i64, ptr %place
  %sum.next = add i64 %sum, %value
  %begin.next = add i64 %begin, 128
  %k.next = add i64 %k, 1
  %more = icmp ne i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %begin, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
; What is more than a length at most is no such check, nor is a choice between two lengths.
define i64 @others(ptr %p, i64 %end, i64 %lane, i64 %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside.2 ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside.2 ]
  %rest = call i64 @llvm.usub.sat.i64(i64 %end, i64 %k)
  %ok = icmp ult i64 %rest, %lane
  br i1 %ok, label %inside, label %panic
inside:
  %is.even = icmp ult i64 %k, %lane
  %length = select i1 %is.even, i64 128, i64 7
  %ok.2 = icmp ugt i64 %length, %lane
  br i1 %ok.2, label %inside.2, label %panic
inside.2:
  %place = getelementptr i64, ptr %p, i64 %k
  %value = load i64, ptr %place
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, 1
  %more = icmp ne i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %k, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
; CHECK: define i64 @rest
; CHECK: [[END:%.*]] = freeze i64 %end
; CHECK: icmp ule i64 {{.*}}, [[END]]
; CHECK: [[LENGTH:%.*]] = sub i64 [[END]], 5
; CHECK: icmp uge i64 [[LENGTH]]
; CHECK: icmp ugt i64 {{.*}}, 127
; CHECK: br i1 {{.*}}, label %loop, label
; CHECK: loop:
; CHECK-NOT: label %panic
; CHECK: br i1 %more
; CHECK: define i64 @chosen
; CHECK: icmp ult i64 {{.*}}, -128
; CHECK: icmp uge i64 128, {{%.*}}
; CHECK: br i1 {{.*}}, label %loop, label
; CHECK: define i64 @others
; CHECK-NOT: label %loop, label
; CHECK: br i1 %more
