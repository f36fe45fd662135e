; An index that continues by what is no constant: one condition in front, and both loops.
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
define float @f(ptr %p, i64 %len, i64 %width, i64 %column, i64 %n) {
before:
  %none = icmp eq i64 %n, 0
  br i1 %none, label %end, label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %all = phi float [ 0.0, %before ], [ %all.next, %inside ]
  %row = mul i64 %k, %width
  %at = add i64 %row, %column
  %is.inside = icmp ult i64 %at, %len
  br i1 %is.inside, label %inside, label %panic
inside:
  %place = getelementptr float, ptr %p, i64 %at
  %value = load float, ptr %place
  %all.next = fadd float %all, %value
  %k.next = add nuw i64 %k, 1
  %is.last = icmp eq i64 %k.next, %n
  br i1 %is.last, label %done, label %loop
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
done:
  br label %end
end:
  %result = phi float [ 0.0, %before ], [ %all.next, %done ]
  ret float %result
}
; CHECK: %0 = freeze i64 %n
; CHECK-NEXT: %1 = sub i64 %0, 1
; CHECK: @llvm.umul.with.overflow.i64(i64 %1
; CHECK: @llvm.uadd.with.overflow.i64
; CHECK: icmp ult i64
; CHECK: br i1 {{.*}}, label %loop, label
; CHECK: loop:
; CHECK: br label %inside
; CHECK: inside:
; CHECK: br i1 %is.last, label %done, label %loop
; CHECK: icmp ult i64 {{.*}}, %len
; CHECK: br i1 {{.*}}, label {{.*}}, label %panic
; CHECK: panic:
; CHECK-NEXT: phi i64
; CHECK: done:
; CHECK-NEXT: phi float [ %all.next, %inside ], [ {{.*}} ]
