; The end of a slice is its beginning and its size, so what the beginning is does not matter: all iterations are counted, and one is taken
; off again, since the loop compares where the next iteration begins.
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
define float @f(ptr %p, i64 %len, ptr %rows, i64 %row, i64 %n) {
before:
  %first = getelementptr inbounds float, ptr %rows, i64 %row
  %end = getelementptr inbounds float, ptr %first, i64 %n
  %none = icmp eq i64 %n, 0
  br i1 %none, label %end.of.all, label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %place = phi ptr [ %first, %before ], [ %next, %inside ]
  %all = phi float [ 0.0, %before ], [ %all.next, %inside ]
  %next = getelementptr inbounds i8, ptr %place, i64 4
  %is.inside = icmp ult i64 %k, %len
  br i1 %is.inside, label %inside, label %panic
inside:
  %other = getelementptr float, ptr %p, i64 %k
  %a = load float, ptr %place
  %b = load float, ptr %other
  %ab = fmul float %a, %b
  %all.next = fadd float %all, %ab
  %k.next = add nuw i64 %k, 1
  %is.last = icmp eq ptr %next, %end
  br i1 %is.last, label %done, label %loop
panic:
  call void @__schism_panic(ptr null, i64 %k, ptr null)
  unreachable
done:
  br label %end.of.all
end.of.all:
  %result = phi float [ 0.0, %before ], [ %all.next, %done ]
  ret float %result
}
; CHECK: loop.preheader:
; CHECK-NEXT: %0 = freeze i64 %n
; CHECK-NEXT: %1 = mul i64 %0, 4
; CHECK: %4 = udiv i64 %1, 4
; CHECK-NEXT: %5 = icmp uge i64 %4, 1
; CHECK: %7 = sub i64 %4, 1
; CHECK: br i1 {{.*}}, label %loop, label
