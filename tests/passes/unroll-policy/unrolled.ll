; A loop whose counter is the only unknown of all indices of a small array is unrolled, and the array is gone; so are the loops of a triangle.
; SPEC target: nvptx64-nvidia-cuda
define i32 @counted(ptr %from) {
begin:
  %words = alloca [8 x i32]
  br label %fill
fill:
  %i = phi i64 [ 0, %begin ], [ %i.next, %fill ]
  %at = getelementptr i32, ptr %from, i64 %i
  %own = load i32, ptr %at
  %to = getelementptr i32, ptr %words, i64 %i
  store i32 %own, ptr %to
  %i.next = add nuw i64 %i, 1
  %i.more = icmp ult i64 %i.next, 8
  br i1 %i.more, label %fill, label %sum
sum:
  %k = phi i64 [ 0, %fill ], [ %k.next, %sum ]
  %sum.own = phi i32 [ 0, %fill ], [ %sum.next, %sum ]
  %there = getelementptr i32, ptr %words, i64 %k
  %word = load i32, ptr %there
  %times = mul i32 %sum.own, 31
  %sum.next = add i32 %times, %word
  %k.next = add nuw i64 %k, 1
  %k.more = icmp ult i64 %k.next, 8
  br i1 %k.more, label %sum, label %done
done:
  ret i32 %sum.next
}

define float @triangle(ptr %from) {
begin:
  %m = alloca [16 x float]
  call void @llvm.memcpy.p0.p0.i64(ptr %m, ptr %from, i64 64, i1 false)
  br label %rows
rows:
  %j = phi i64 [ 0, %begin ], [ %j.next, %row.done ]
  br label %row
row:
  %i = phi i64 [ %j, %rows ], [ %i.next, %row ]
  %in.row = shl i64 %i, 2
  %place = add i64 %in.row, %j
  %at = getelementptr float, ptr %m, i64 %place
  %x = load float, ptr %at
  %y = fmul float %x, 2.0
  store float %y, ptr %at
  %i.next = add nuw i64 %i, 1
  %i.more = icmp ult i64 %i.next, 4
  br i1 %i.more, label %row, label %row.done
row.done:
  %j.next = add nuw i64 %j, 1
  %j.more = icmp ult i64 %j.next, 4
  br i1 %j.more, label %rows, label %done
done:
  %last = getelementptr float, ptr %m, i64 15
  %result = load float, ptr %last
  ret float %result
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
; CHECK: define i32 @counted
; CHECK-NOT: alloca
; CHECK-NOT: phi
; CHECK: ret i32
; CHECK: define float @triangle
; CHECK-NOT: phi
; CHECK-NOT: br
; CHECK: ret float
