; SPEC kernel: kernel entry 40 8
; SPEC param: 0 40 8 bytes
; What has no scalar form travels as bytes.
define internal void @entry(ptr %k, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) {
  ret void
}
; CHECK: define void @kernel(ptr byval([40 x i8]) align 8 %0)
; CHECK: call void @llvm.memcpy{{.*}} align 8 {{.*}} align 8 %0, i64 40
