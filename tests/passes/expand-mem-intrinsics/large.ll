; Large fills and copies of a known size become loops of words as large as their alignment allows, and what is left behind them.
declare void @llvm.memset.p5.i64(ptr addrspace(5), i8, i64, i1)
declare void @llvm.memcpy.p1.p5.i64(ptr addrspace(1), ptr addrspace(5), i64, i1)

define i32 @fill(ptr addrspace(5) %at, i1 %way) {
begin:
  br i1 %way, label %fill, label %done
fill:
  %more = phi i32 [ 3, %begin ]
  call void @llvm.memset.p5.i64(ptr addrspace(5) align 8 %at, i8 1, i64 1035, i1 false)
  br label %done
done:
  %result = phi i32 [ 1, %begin ], [ %more, %fill ]
  ret i32 %result
}

define void @copy(ptr addrspace(1) %to, ptr addrspace(5) %from) {
  call void @llvm.memcpy.p1.p5.i64(ptr addrspace(1) align 16 %to, ptr addrspace(5) align 4 %from, i64 128, i1 false)
  ret void
}

define void @variables() {
  %a = alloca [128 x i8], align 8, addrspace(5)
  call void @llvm.memset.p5.i64(ptr addrspace(5) align 8 %a, i8 0, i64 128, i1 false)
  %b = alloca i32, align 4, addrspace(5)
  store i32 0, ptr addrspace(5) %b
  ret void
}
; CHECK: define i32 @fill
; CHECK: br i1 %way, label %0, label %done
; CHECK: 0:
; CHECK-NEXT: %1 = phi i32 [ 3, %begin ]
; CHECK-NEXT: br label %2
; CHECK: 2:
; CHECK-NEXT: %3 = phi i64 [ 0, %0 ], [ %13, %2 ]
; CHECK-NEXT: %4 = getelementptr i8, ptr addrspace(5) %at, i64 %3
; CHECK-NEXT: %5 = getelementptr i8, ptr addrspace(5) %4, i64 0
; CHECK-NEXT: store i64 72340172838076673, ptr addrspace(5) %5, align 8
; CHECK-NEXT: %6 = getelementptr i8, ptr addrspace(5) %4, i64 8
; CHECK-NEXT: store i64 72340172838076673, ptr addrspace(5) %6, align 8
; CHECK: %13 = add nuw nsw i64 %3, 64
; CHECK-NEXT: %14 = icmp ult i64 %13, 1024
; CHECK-NEXT: br i1 %14, label %2, label %fill, !llvm.loop !0
; CHECK: fill:
; CHECK-NEXT: %15 = getelementptr i8, ptr addrspace(5) %at, i64 1024
; CHECK: store i64 72340172838076673, ptr addrspace(5) %16, align 8
; CHECK: store i8 1, ptr addrspace(5) %17, align 1
; CHECK: store i8 1, ptr addrspace(5) %18, align 1
; CHECK: store i8 1, ptr addrspace(5) %19, align 1
; CHECK-NOT: store
; CHECK: br label %done
; CHECK: %result = phi i32 [ 1, %begin ], [ %1, %fill ]
; CHECK: define void @copy
; CHECK: load i32, ptr addrspace(5) %5, align 4
; CHECK: store i32 %6, ptr addrspace(1) %21, align 4
; CHECK: icmp ult i64 %29, 128
; CHECK: ret void
; CHECK: define void @variables
; CHECK-NEXT: %1 = alloca [128 x i8], align 8, addrspace(5)
; CHECK-NEXT: %2 = alloca i32, align 4, addrspace(5)
; CHECK-NEXT: br label
; CHECK: store i32 0, ptr addrspace(5) %2
; CHECK: !1 = !{!"llvm.loop.unroll.disable"}
