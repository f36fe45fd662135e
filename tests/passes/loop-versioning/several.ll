; Two checks, one of which is the same in every iteration, and a condition of two.
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
declare void @__schism_barrier() convergent
define i64 @several(ptr %p, i64 %len, i64 %a, i64 %b, i64 %n) {
before:
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %before ], [ %sum.next, %inside ]
  %at = add i64 %k, %b
  %ok = icmp ult i64 %at, %len
  %same = icmp ult i64 %a, %len
  %both = and i1 %ok, %same
  br i1 %both, label %inside, label %panic
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
; CHECK: define i64 @several
; CHECK: @llvm.uadd.with.overflow.i64
; CHECK: icmp ult
; CHECK: icmp ult
; CHECK: and i1
; CHECK: br i1 {{.*}}, label %loop, label
; CHECK: loop:
; CHECK: br label %inside
; CHECK: done:
; CHECK-NEXT: %sum.next.lcssa = phi i64 [ %sum.next, %inside ], [ {{.*}} ]
