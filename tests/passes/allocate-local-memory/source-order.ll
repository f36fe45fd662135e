; SPEC kernel: kernel entry 0 1
; Arrays of one size lie in the order of the source, which that of the symbols contradicts: the kernel calls `z` before `a`, and reaches
; `m` between them by an address in a constant.
@TABLE = internal constant [1 x ptr] [ptr @m]
@T1 = internal constant i8 0
@T2 = internal constant i8 0
@T3 = internal constant i8 0
define internal ptr @a() {
  %tile = call ptr @__schism_local_static(ptr @T1, i64 64, i64 4)
  ret ptr %tile
}
define internal ptr @m() {
  %tile = call ptr @__schism_local_static(ptr @T2, i64 64, i64 4)
  ret ptr %tile
}
define internal ptr @z() {
  %tile = call ptr @__schism_local_static(ptr @T3, i64 64, i64 4)
  ret ptr %tile
}
define void @kernel() {
  %first = call ptr @z()
  %m = load ptr, ptr @TABLE
  %second = call ptr %m()
  %third = call ptr @a()
  ret void
}
declare ptr @__schism_local_static(ptr, i64, i64)
; CHECK: define internal ptr @a()
; CHECK: getelementptr inbounds i8, ptr %memory, i64 128
; CHECK: define internal ptr @m()
; CHECK: getelementptr inbounds i8, ptr %memory, i64 64
; CHECK: define internal ptr @z()
; CHECK: getelementptr inbounds i8, ptr %memory, i64 0
; CHECK: ; kernel kernel: groups with 192 bytes at multiples of 16
