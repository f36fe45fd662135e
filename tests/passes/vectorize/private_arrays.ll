; Arrays of each work-item: the lanes' elements lie side by side where all accesses are of one size, else
; each lane has a copy.
; SPEC lanes: 256 8
define void @kernel(ptr %in, ptr %out, i64 %u, i64 %begin, i64 %end) {
start:
  %array = alloca [16 x i32]
  %pieces = alloca [5 x i32]
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %p = getelementptr i32, ptr %in, i64 %x
  %v = load i32, ptr %p, align 4
  %u.low = and i64 %u, 15
  %a = getelementptr i32, ptr %array, i64 %u.low
  store i32 %v, ptr %a, align 4
  %v.low = and i32 %v, 15
  %v.wide = zext i32 %v.low to i64
  %b = getelementptr i32, ptr %array, i64 %v.wide
  %w = load i32, ptr %b, align 4
  store i32 %w, ptr %pieces, align 4
  %c = getelementptr i8, ptr %pieces, i64 %u.low
  %d = load i8, ptr %c, align 1
  %q = getelementptr i8, ptr %out, i64 %x
  store i8 %d, ptr %q, align 1
  br label %next
next:
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: alloca [{{.*}} x i8]
; CHECK: getelementptr [32 x i8], ptr %vector.local
; CHECK: vector.loop:
; CHECK: store <8 x i32>
; CHECK: call <8 x i32> @llvm.masked.gather
