; A vector between two that were stored is a shuffle of these; an element is extracted. Nothing reads the memory any more.
; CHECK: i32 @schism.loop
; CHECK-NOT: local_memory
; CHECK: shufflevector <4 x i32> %a, <4 x i32> %b, <4 x i32> <i32 1, i32 2, i32 3, i32 4>
; CHECK: extractelement <4 x i32> %d, i32 2
; CHECK-NOT: store
; CHECK: ret i32
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
declare ptr @schism.local_memory(ptr)
define i32 @schism.loop(<4 x i32> %a, <4 x i32> %b, ptr %group) #0 {
  %tile = call noalias ptr @schism.local_memory(ptr %group)
  store <4 x i32> %a, ptr %tile, align 4
  %second = getelementptr inbounds i32, ptr %tile, i64 4
  store <4 x i32> %b, ptr %second, align 4
  %next = getelementptr inbounds i32, ptr %tile, i64 1
  %c = load <4 x i32>, ptr %next, align 4
  %d = add <4 x i32> %a, %c
  store <4 x i32> %d, ptr %tile, align 4
  %third = getelementptr inbounds i32, ptr %tile, i64 2
  %e = load i32, ptr %third, align 4
  ret i32 %e
}
attributes #0 = { "schism-cut" "schism-group-size"="16,1,1" }
