; The address of a local is kept before the loop, and comes back in it: lanes would not find their own
; copies there. The local's lifetime begins in each work-item all the same.
; SPEC lanes: 256 8
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.lifetime.end.p0(ptr)
define void @kernel(ptr noalias %out, ptr %kept, i64 %k, i64 %begin, i64 %end) {
start:
  %own = alloca [2 x i64]
  store ptr %own, ptr %kept, align 8
  br label %item
item:
  %x = phi i64 [ %begin, %start ], [ %x.after, %item ]
  call void @llvm.lifetime.start.p0(ptr %own)
  store i64 %x, ptr %own, align 8
  %own.1 = getelementptr i8, ptr %own, i64 8
  store i64 %k, ptr %own.1, align 8
  %back = load ptr, ptr %kept, align 8
  %low = and i64 %x, 1
  %at = getelementptr i64, ptr %back, i64 %low
  %v = load i64, ptr %at, align 8
  %r = getelementptr i64, ptr %out, i64 %x
  store i64 %v, ptr %r, align 4
  call void @llvm.lifetime.end.p0(ptr %own)
  %x.after = add i64 %x, 1
  %done = icmp eq i64 %x.after, %end
  br i1 %done, label %exit, label %item, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: kernel: not vectorised: it has private memory that was filled before the loop
