; A loop without checks runs beside a copy of it with checks, whose panics come after stores. Where that copy would have to run, the loop
; over work-items takes over, before anything is stored.
; SPEC lanes: 512
declare void @panic() cold noreturn
define void @kernel(ptr noalias %in, ptr noalias %out, i64 %n, i64 %len, i64 %rows, i64 %begin, i64 %end) {
start:
  br label %item
item:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %fits = icmp ule i64 %rows, %len
  br i1 %fits, label %loop, label %checked.loop
loop:
  %k = phi i64 [ 0, %item ], [ %k.next, %loop ]
  %place = mul i64 %k, %n
  %at = add i64 %place, %x
  %p = getelementptr float, ptr %in, i64 %at
  %v = load float, ptr %p, align 4
  %w = fmul float %v, %v
  %q = getelementptr float, ptr %out, i64 %at
  store float %w, ptr %q, align 4
  %k.next = add nuw i64 %k, 1
  %more = icmp ult i64 %k.next, %rows
  br i1 %more, label %loop, label %next
checked.loop:
  %c = phi i64 [ 0, %item ], [ %c.next, %inside ]
  %is.inside = icmp ult i64 %c, %len
  br i1 %is.inside, label %inside, label %bad
inside:
  %c.place = mul i64 %c, %n
  %c.at = add i64 %c.place, %x
  %c.p = getelementptr float, ptr %in, i64 %c.at
  %c.v = load float, ptr %c.p, align 4
  %c.w = fmul float %c.v, %c.v
  %c.q = getelementptr float, ptr %out, i64 %c.at
  store float %c.w, ptr %c.q, align 4
  %c.next = add nuw i64 %c, 1
  %c.more = icmp ult i64 %c.next, %rows
  br i1 %c.more, label %checked.loop, label %next, !llvm.loop !2
bad:
  call void @panic()
  ret void
next:
  %x.after = add i64 %x, 1
  %all = icmp eq i64 %x.after, %end
  br i1 %all, label %exit, label %item, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
!2 = distinct !{!2, !3}
!3 = !{!"schism.checked"}
; CHECK: vector.loop:
; CHECK: br i1 {{.*}}, label %vector.restart
; CHECK: fmul <16 x float>
; CHECK: store <16 x float>
; CHECK-NOT: fmul <16 x float>
