; A sparse row by a vector: three gathers for two operations do not pay.
; SPEC lanes: 512
define void @kernel(ptr %starts, ptr %columns, ptr %values, ptr %in, ptr %out, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %s = getelementptr i32, ptr %starts, i64 %x
  %first = load i32, ptr %s, align 4
  %s.next = getelementptr i8, ptr %s, i64 4
  %last = load i32, ptr %s.next, align 4
  %from = zext i32 %first to i64
  %to = zext i32 %last to i64
  %any = icmp ult i64 %from, %to
  br i1 %any, label %row, label %done
row:
  %k = phi i64 [ %from, %item ], [ %k.next, %row ]
  %sum = phi float [ 0.0, %item ], [ %sum.next, %row ]
  %c = getelementptr i32, ptr %columns, i64 %k
  %column = load i32, ptr %c, align 4
  %v = getelementptr float, ptr %values, i64 %k
  %value = load float, ptr %v, align 4
  %wide = zext i32 %column to i64
  %i = getelementptr float, ptr %in, i64 %wide
  %element = load float, ptr %i, align 4
  %product = fmul float %value, %element
  %sum.next = fadd float %sum, %product
  %k.next = add nuw i64 %k, 1
  %more = icmp ult i64 %k.next, %to
  br i1 %more, label %row, label %done
done:
  %result = phi float [ 0.0, %item ], [ %sum.next, %row ]
  %q = getelementptr float, ptr %out, i64 %x
  store float %result, ptr %q, align 4
  br label %next
next:
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK-NOT: vector.loop
; CHECK: kernel: not vectorised: an item would cost
