; A large table that each work-item makes is one for all of them.
; SPEC lanes: 256 8
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define void @kernel(ptr %in, ptr %out, ptr noalias readonly %from, i64 %begin, i64 %end) {
start:
  %table = alloca [64 x i32]
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  call void @llvm.memcpy.p0.p0.i64(ptr %table, ptr %from, i64 256, i1 false)
  %p = getelementptr i32, ptr %in, i64 %x
  %v = load i32, ptr %p, align 4
  %v.low = and i32 %v, 63
  %v.wide = zext i32 %v.low to i64
  %b = getelementptr i32, ptr %table, i64 %v.wide
  %w = load i32, ptr %b, align 4
  %q = getelementptr i32, ptr %out, i64 %x
  store i32 %w, ptr %q, align 4
  br label %next
next:
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK-NOT: vector.local
; CHECK: vector.loop:
; CHECK: call void @llvm.memcpy
; CHECK: getelementptr i32, <8 x ptr>
; CHECK: masked.gather
