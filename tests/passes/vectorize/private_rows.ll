; A private matrix whose rows are addressed by bytes, in steps of a row: its elements are interleaved all the same.
; SPEC lanes: 256 8
define void @kernel(ptr noalias readonly %in, ptr %out, i64 %k, i64 %begin, i64 %end) {
start:
  %rows = alloca [4 x [5 x i32]], align 4
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %p = getelementptr i32, ptr %in, i64 %x
  %v = load i32, ptr %p, align 4
  br label %row
row:
  %offset = phi i64 [ 0, %item ], [ %offset.next, %row ]
  %at = getelementptr i8, ptr %rows, i64 %offset
  %own = add i32 %v, 1
  store i32 %own, ptr %at, align 4
  %offset.next = add i64 %offset, 20
  %more = icmp ult i64 %offset.next, 80
  br i1 %more, label %row, label %done
done:
  %last = mul i64 %k, 20
  %last.at = getelementptr i8, ptr %rows, i64 %last
  %result = load i32, ptr %last.at, align 4
  %q = getelementptr i32, ptr %out, i64 %x
  store i32 %result, ptr %q, align 4
  br label %next
next:
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: vector.loop:
; CHECK: store <8 x i32>
; CHECK: load <8 x i32>
; CHECK: private memory: locals: 1 interleaved by lane
; CHECK-NOT: whole for each lane
