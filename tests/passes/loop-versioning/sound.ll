; Arithmetic of what is never poison is made once more without its promises, and not frozen: LLVM knows its range.
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
define float @f(ptr %p, i32 noundef %len, i32 noundef %lane, i64 %n) {
before:
  %most = zext nneg i32 %len to i64
  %wide = zext nneg i32 %lane to i64
  %first = shl nuw nsw i64 %wide, 5
  br label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %all = phi float [ 0.0, %before ], [ %all.next, %inside ]
  %at = add i64 %first, %k
  %is.inside = icmp ult i64 %at, %most
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
  ret float %all.next
}
; CHECK: freeze i64 %n
; CHECK-NOT: freeze
; CHECK: zext i32 %lane to i64
; CHECK-NEXT: shl i64 {{.*}}, 5
; CHECK-NOT: freeze
; CHECK: loop:
