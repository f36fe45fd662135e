; A row of a sparse matrix. What is loaded in iterations after a failed check lies in slices.
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
define float @row(ptr noundef "schism.slice"="0:4" %columns, i64 noundef "schism.length"="0" %columns.len, ptr noundef "schism.slice"="2:4" %values, i64 noundef "schism.length"="2" %values.len, ptr noundef "schism.slice"="4:4" %x, i64 noundef "schism.length"="4" %x.len, i64 noundef %begin, i64 noundef %n) {
before:
  %row = getelementptr inbounds i32, ptr %columns, i64 %begin
  %row.values = getelementptr inbounds float, ptr %values, i64 %begin
  %none = icmp eq i64 %n, 0
  br i1 %none, label %end.of.all, label %loop
loop:
  %k = phi i64 [ 0, %before ], [ %k.next, %inside ]
  %sum = phi float [ 0.0, %before ], [ %sum.next, %inside ]
  %column.at = getelementptr inbounds i32, ptr %row, i64 %k
  %column = load i32, ptr %column.at, !noundef !0, !range !1
  %index = zext nneg i32 %column to i64
  %is.inside = icmp samesign ugt i64 %x.len, %index
  br i1 %is.inside, label %inside, label %panic
inside:
  %value.at = getelementptr inbounds float, ptr %row.values, i64 %k
  %value = load float, ptr %value.at
  %x.at = getelementptr inbounds float, ptr %x, i64 %index
  %element = load float, ptr %x.at
  %product = fmul float %value, %element
  %sum.next = fadd float %sum, %product
  %k.next = add nuw nsw i64 %k, 1
  %is.last = icmp eq i64 %k.next, %n
  br i1 %is.last, label %done, label %loop
panic:
  call void @__schism_panic(ptr null, i64 %index, ptr null)
  unreachable
done:
  br label %end.of.all
end.of.all:
  %result = phi float [ 0.0, %before ], [ %sum.next, %done ]
  ret float %result
}
!0 = !{}
!1 = !{i32 0, i32 100}
; Whether x has an element, and whether the last iteration's places are in their slices.
; CHECK: loop.preheader:
; CHECK-NEXT: %0 = icmp ne i64 %x.len, 0
; CHECK-NEXT: %1 = mul i64 %begin, 4
; CHECK: %12 = mul i64 %columns.len, 4
; CHECK-NEXT: %13 = icmp ule i64 %11, %12
; CHECK: %25 = mul i64 %values.len, 4
; CHECK-NEXT: %26 = icmp ule i64 %24, %25
; CHECK: %28 = sub i64 %x.len, 1
; CHECK-NEXT: %29 = call i64 @llvm.umin.i64(i64 %28, i64 4294967295)
; CHECK-NEXT: %30 = trunc i64 %29 to i32
; CHECK-NEXT: br i1 %27, label %loop, label %40
; No branch but that at the end, and no promise.
; CHECK: loop:
; CHECK: %31 = phi i32 [ 0, %loop.preheader ], [ %33, %inside ]
; CHECK: %column.at = getelementptr i32, ptr %row, i64 %k
; CHECK-NEXT: %column = load i32, ptr %column.at, align 4
; CHECK-NEXT: %index = zext i32 %column to i64
; CHECK: %32 = freeze i32 %column
; CHECK-NEXT: %33 = call i32 @llvm.umax.i32(i32 %31, i32 %32)
; CHECK-NEXT: %34 = call i32 @llvm.umin.i32(i32 %32, i32 %30)
; CHECK-NEXT: %35 = zext i32 %34 to i64
; CHECK-NEXT: br label %inside
; CHECK: %36 = getelementptr float, ptr %x, i64 %35
; CHECK-NEXT: %element = load float, ptr %36, align 4
; CHECK: br i1 %is.last, label %37, label %loop, !llvm.loop !0
; CHECK: %38 = zext i32 %33 to i64
; CHECK-NEXT: %39 = icmp ult i64 %38, %x.len
; CHECK-NEXT: br i1 %39, label %done, label %40
; The original, from its begin.
; CHECK: %41 = phi i64 [ %54, %47 ], [ 0, %loop.preheader ], [ 0, %37 ]
; CHECK: load i32, ptr %43, align 4, !range !2, !noundef !3
; CHECK: br i1 %46, label %47, label %panic
; CHECK: br i1 %55, label %done, label %40, !llvm.loop !4
; CHECK: panic: ; preds = %40
; CHECK: %57 = phi float [ %53, %47 ], [ %sum.next, %37 ]
; CHECK: !1 = !{!"llvm.loop.unroll.disable"}
; CHECK: !5 = !{!"schism.checked"}
