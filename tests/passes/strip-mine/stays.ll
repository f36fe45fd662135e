; What stays: a loop that stores, one with a barrier, one whose check does not depend on what is loaded, one in which what is checked was loaded
; behind a check, one in memory of the group, one that is not counted, and one with a volatile load.
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
declare void @__schism_barrier() convergent
define i64 @stores(ptr addrspace(1) %p, ptr addrspace(1) %x, i64 %len, i64 %begin, i64 %end) {
before:
  br label %loop
loop:
  %k = phi i64 [ %begin, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %at = getelementptr i64, ptr addrspace(1) %p, i64 %k
  %index = load i64, ptr addrspace(1) %at
  %ok = icmp ult i64 %index, %len
  br i1 %ok, label %inside, label %panic
inside:
  %x.at = getelementptr i64, ptr addrspace(1) %x, i64 %index
  %value = load i64, ptr addrspace(1) %x.at
  store i64 %value, ptr addrspace(1) %at
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %end
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %index, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
define i64 @waits(ptr addrspace(1) %p, ptr addrspace(1) %x, i64 %len, i64 %begin, i64 %end) {
before:
  br label %loop
loop:
  %k = phi i64 [ %begin, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %at = getelementptr i64, ptr addrspace(1) %p, i64 %k
  %index = load i64, ptr addrspace(1) %at
  %ok = icmp ult i64 %index, %len
  br i1 %ok, label %inside, label %panic
inside:
  %x.at = getelementptr i64, ptr addrspace(1) %x, i64 %index
  %value = load i64, ptr addrspace(1) %x.at
  call void @__schism_barrier()
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %end
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %index, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
define i64 @counter(ptr addrspace(1) %p, ptr addrspace(1) %x, i64 %len, i64 %begin, i64 %end) {
before:
  br label %loop
loop:
  %k = phi i64 [ %begin, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %at = getelementptr i64, ptr addrspace(1) %p, i64 %k
  %index = load i64, ptr addrspace(1) %at
  %ok = icmp ult i64 %k, %len
  br i1 %ok, label %inside, label %panic
inside:
  %x.at = getelementptr i64, ptr addrspace(1) %x, i64 %index
  %value = load i64, ptr addrspace(1) %x.at
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %end
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %index, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
define i64 @twice(ptr addrspace(1) %p, ptr addrspace(1) %x, i64 %len, i64 %begin, i64 %end) {
before:
  br label %loop
loop:
  %k = phi i64 [ %begin, %before ], [ %k.next, %inside.2 ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside.2 ]
  %at = getelementptr i64, ptr addrspace(1) %p, i64 %k
  %index = load i64, ptr addrspace(1) %at
  %ok = icmp ult i64 %index, %len
  br i1 %ok, label %inside, label %panic
inside:
  %x.at = getelementptr i64, ptr addrspace(1) %x, i64 %index
  %value = load i64, ptr addrspace(1) %x.at
  %ok.2 = icmp ult i64 %value, %len
  br i1 %ok.2, label %inside.2, label %panic.2
inside.2:
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %end
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %index, ptr null)
  unreachable
panic.2:
  call void @__schism_panic(ptr null, i64 %value, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
define i64 @group(ptr addrspace(3) %p, ptr addrspace(1) %x, i64 %len, i64 %begin, i64 %end) {
before:
  br label %loop
loop:
  %k = phi i64 [ %begin, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %at = getelementptr i64, ptr addrspace(3) %p, i64 %k
  %index = load i64, ptr addrspace(3) %at
  %ok = icmp ult i64 %index, %len
  br i1 %ok, label %inside, label %panic
inside:
  %x.at = getelementptr i64, ptr addrspace(1) %x, i64 %index
  %value = load i64, ptr addrspace(1) %x.at
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %end
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %index, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
define i64 @uncounted(ptr addrspace(1) %p, ptr addrspace(1) %x, i64 %len, i64 %begin, i64 %end) {
before:
  br label %loop
loop:
  %k = phi i64 [ %begin, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %at = getelementptr i64, ptr addrspace(1) %p, i64 %k
  %index = load i64, ptr addrspace(1) %at
  %ok = icmp ult i64 %index, %len
  br i1 %ok, label %inside, label %panic
inside:
  %x.at = getelementptr i64, ptr addrspace(1) %x, i64 %index
  %value = load i64, ptr addrspace(1) %x.at
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, %value
  %more = icmp ult i64 %k.next, %end
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %index, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
define i64 @seen(ptr addrspace(1) %p, ptr addrspace(1) %x, i64 %len, i64 %begin, i64 %end) {
before:
  br label %loop
loop:
  %k = phi i64 [ %begin, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %at = getelementptr i64, ptr addrspace(1) %p, i64 %k
  %index = load volatile i64, ptr addrspace(1) %at
  %ok = icmp ult i64 %index, %len
  br i1 %ok, label %inside, label %panic
inside:
  %x.at = getelementptr i64, ptr addrspace(1) %x, i64 %index
  %value = load i64, ptr addrspace(1) %x.at
  %sum.next = add i64 %sum, %value
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %end
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %index, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
; CHECK: define i64 @stores(
; CHECK-NOT: phi i32
; CHECK: define i64 @waits(
; CHECK-NOT: phi i32
; CHECK: define i64 @counter(
; CHECK-NOT: phi i32
; CHECK: define i64 @twice(
; CHECK-NOT: phi i32
; CHECK: define i64 @group(
; CHECK-NOT: phi i32
; CHECK: define i64 @uncounted(
; CHECK-NOT: phi i32
; CHECK: define i64 @seen(
; CHECK-NOT: phi i32
