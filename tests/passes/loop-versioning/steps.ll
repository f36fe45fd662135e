; Steps other than one: the distance is a multiple, or the bound leaves room for the last step.
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
declare void @__schism_barrier() convergent
define i64 @multiple(ptr %p, i64 %len, i64 %a, i64 %b, i64 %n) {
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
  %k.next = add i64 %k, 3
  %more = icmp ne i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
define i64 @below(ptr %p, i64 %len, i64 %a, i64 %b, i64 %n) {
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
  %k.next = add i64 %k, 32
  %more = icmp ult i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
define i64 @through(ptr %p, i64 %len, i64 %a, i64 %b, i64 %n) {
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
  %k.next = add i64 %k, 1
  %more = icmp ule i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
define i64 @signed(ptr %p, i64 %len, i64 %a, i64 %b, i64 %n) {
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
  %k.next = add i64 %k, 4
  %more = icmp slt i64 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
; CHECK: define i64 @multiple
; CHECK: urem i64 {{.*}}, 3
; CHECK: icmp eq i64 {{.*}}, 0
; CHECK: udiv i64 {{.*}}, 3
; CHECK: @llvm.umul.with.overflow.i64(i64 {{.*}}, i64 3)
; CHECK: define i64 @below
; CHECK: icmp ule i64 {{.*}}, -32
; CHECK: @llvm.usub.sat.i64
; CHECK: add i64 {{.*}}, 31
; CHECK: udiv i64 {{.*}}, 32
; CHECK: define i64 @through
; CHECK: icmp ule i64 {{.*}}, -2
; CHECK: @llvm.usub.sat.i64
; CHECK: define i64 @signed
; CHECK: icmp ule i64 {{.*}}, 9223372036854775804
