; A barrier in the loop, an index that is loaded, a loop whose end nobody can count.
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
declare void @__schism_barrier() convergent
define i64 @barrier(ptr %p, i64 %len, i64 %a, i64 %b, i64 %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %at = add i64 %k, %b
  %ok = icmp ult i64 %at, %len
  br i1 %ok, label %inside, label %panic
inside:
  call void @__schism_barrier()
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
define i64 @loaded(ptr %p, i64 %len, i64 %a, i64 %b, i64 %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %from = getelementptr i64, ptr %p, i64 %k
  %at = load i64, ptr %from
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
define i64 @endless(ptr %p, i64 %len, i64 %a, i64 %b, i64 %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %at = add i64 %k, %b
  %ok = icmp ult i64 %at, %len
  br i1 %ok, label %inside, label %panic
inside:
  %place = getelementptr i64, ptr %p, i64 %at
  %value = load i64, ptr %place
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, 1
  %more = icmp ne i64 %value, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
; CHECK: define i64 @barrier
; CHECK-NOT: freeze
; CHECK: define i64 @loaded
; CHECK-NOT: freeze
; CHECK: define i64 @endless
; CHECK-NOT: freeze
; CHECK: attributes
