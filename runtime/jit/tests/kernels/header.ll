; What every image has: its target, and the builtins that kernels call.
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

declare i64 @__schism_global_id_x() nounwind willreturn memory(none)
declare i64 @__schism_global_id_y() nounwind willreturn memory(none)
declare i64 @__schism_global_id_z() nounwind willreturn memory(none)
declare i64 @__schism_global_range_x() nounwind willreturn memory(none)
declare i64 @__schism_global_range_y() nounwind willreturn memory(none)
declare i64 @__schism_global_range_z() nounwind willreturn memory(none)
declare void @__schism_panic(ptr, i64, ptr) cold noreturn nounwind
