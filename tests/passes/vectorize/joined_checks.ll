; Several checks of numbers that count up, joined: the last lane tells of all of them.
; SPEC lanes: 256 8
declare void @panic() cold noreturn
define void @kernel(ptr noalias %in, ptr noalias %out, i64 %row, i64 %len, i1 %other, i64 %begin, i64 %end) {
start:
  br label %item
item:
  %x = phi i64 [ %begin, %start ], [ %x.after, %go ]
  %place = add i64 %row, %x
  %right = add i64 %place, 1
  %a.in = icmp ult i64 %place, %len
  %b.in = icmp ult i64 %right, %len
  %both = select i1 %a.in, i1 %b.in, i1 false
  %all = and i1 %both, %other
  br i1 %all, label %go, label %bad
go:
  %p = getelementptr float, ptr %in, i64 %place
  %q = getelementptr float, ptr %in, i64 %right
  %v = load float, ptr %p, align 4
  %w = load float, ptr %q, align 4
  %s = fadd float %v, %w
  %r = getelementptr float, ptr %out, i64 %x
  store float %s, ptr %r, align 4
  %x.after = add i64 %x, 1
  %done = icmp eq i64 %x.after, %end
  br i1 %done, label %exit, label %item, !llvm.loop !0
bad:
  call void @panic()
  ret void
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: vector.loop:
; CHECK: %{{.*}} = icmp uge i64
; CHECK: br i1 {{.*}}, label %vector.restart
