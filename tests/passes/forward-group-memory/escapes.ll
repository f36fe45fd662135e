; A function has the address: everything stays. So it does without a known size of groups.
; CHECK: i32 @schism.loop
; CHECK: store i32 %a
; CHECK: call void @use
; CHECK: load i32
; CHECK: i32 @other
; CHECK: store i32 %a
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
declare ptr @schism.local_memory(ptr)
declare void @use(ptr)
define i32 @schism.loop(i32 %a, ptr %group) #0 {
  %tile = call noalias ptr @schism.local_memory(ptr %group)
  store i32 %a, ptr %tile, align 4
  call void @use(ptr %tile)
  %b = load i32, ptr %tile, align 4
  ret i32 %b
}
define i32 @other(i32 %a, ptr %group) #1 {
  %tile = call noalias ptr @schism.local_memory(ptr %group)
  store i32 %a, ptr %tile, align 4
  %b = load i32, ptr %tile, align 4
  ret i32 %b
}
attributes #0 = { "schism-cut" "schism-group-size"="16,1,1" }
attributes #1 = { "schism-cut" }
