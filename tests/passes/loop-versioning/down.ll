; A counter that goes down, and an index that goes down as it goes up: the least is the last.
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
declare void @__schism_barrier() convergent
define i64 @counter(ptr %p, i64 %len, i64 %a, i64 %b, i64 %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ %a, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %at = add i64 %k, %b
  %ok = icmp ult i64 %at, %len
  br i1 %ok, label %inside, label %panic
inside:
  %place = getelementptr i64, ptr %p, i64 %at
  %value = load i64, ptr %place
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, -1
  %more = icmp ne i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
define i64 @index(ptr %p, i64 %len, i64 %a, i64 %b, i64 %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %at = sub i64 %b, %k
  %ok = icmp ult i64 %at, %len
  br i1 %ok, label %inside, label %panic
inside:
  %place = getelementptr i64, ptr %p, i64 %at
  %value = load i64, ptr %place
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, 1
  %more = icmp ne i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
; CHECK: define i64 @counter
; CHECK: %6 = icmp uge i64 %5, %3
; CHECK: icmp ult i64 %9, %8
; CHECK: br i1 {{.*}}, label %loop, label
; CHECK: define i64 @index
; CHECK: icmp uge i64
; CHECK: icmp ult i64
; CHECK: br i1 {{.*}}, label %loop, label
