; An index of 32 bits must not wrap in any iteration.
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
declare void @__schism_barrier() convergent
define i64 @narrow(ptr %p, i64 %len, i64 %a, i64 %b, i32 %n) {
before:
  br label %loop
loop:
  %k = phi i32 [ 0, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %small = mul i32 %k, 7
  %at = zext i32 %small to i64
  %ok = icmp ult i64 %at, %len
  br i1 %ok, label %inside, label %panic
inside:
  %place = getelementptr i64, ptr %p, i64 %at
  %value = load i64, ptr %place
  %sum.next = add i64 %sum, %value
  %k.next = add i32 %k, 1
  %more = icmp ult i32 %k.next, %n
  br i1 %more, label %loop, label %done
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
done:
  ret i64 %sum.next
}
; CHECK: define i64 @narrow
; CHECK: @llvm.umul.with.overflow.i64(i64 {{.*}}, i64 7)
; CHECK: icmp ule i64 {{.*}}, 4294967295
; CHECK: br i1 {{.*}}, label %loop, label
