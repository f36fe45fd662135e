; What a later store has changed in part is made of both; what nothing stored before is loaded.
; CHECK: i32 @schism.loop
; CHECK: call noalias ptr @schism.local_memory
; CHECK: insertelement <4 x i32> {{.*}}, i32 %b, i32 1
; CHECK: load i32
; CHECK: ret i32
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
declare ptr @schism.local_memory(ptr)
declare void @use(<4 x i32>)
define i32 @schism.loop(<4 x i32> %a, i32 %b, ptr %group) #0 {
  %tile = call noalias ptr @schism.local_memory(ptr %group)
  store <4 x i32> %a, ptr %tile, align 4
  %second = getelementptr inbounds i32, ptr %tile, i64 1
  store i32 %b, ptr %second, align 4
  %c = load <4 x i32>, ptr %tile, align 4
  call void @use(<4 x i32> %c)
  %behind = getelementptr inbounds i32, ptr %tile, i64 4
  %d = load i32, ptr %behind, align 4
  ret i32 %d
}
attributes #0 = { "schism-cut" "schism-group-size"="16,1,1" }
