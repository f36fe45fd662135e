; Specialization constants as stage 1 leaves them, and a sum that may be taken in another order.

@TILE = externally_initialized constant [8 x i8] c"\10\00\00\00\00\00\00\00", align 8
@POINT = externally_initialized constant [12 x i8] c"\00\00\80?\02\00\00\00\03\00\00\00", align 4
@other = constant [4 x i8] c"\05\00\00\00", align 4

define internal i64 @tile() {
start:
  %tile = load i32, ptr @TILE, align 4
  %big = icmp ugt i32 %tile, 100
  br i1 %big, label %large, label %small
large:
  %x = call i64 @__schism_global_id_x()
  %r = mul i64 %x, 1000003
  ret i64 %r
small:
  %wide = zext i32 %tile to i64
  ret i64 %wide
}

define void @special(ptr %out) {
start:
  %i = call i64 @__schism_global_id_x()
  %at = getelementptr inbounds [3 x i64], ptr %out, i64 %i
  %tile = call i64 @tile()
  store i64 %tile, ptr %at, align 8
  %y = load i32, ptr getelementptr inbounds (i8, ptr @POINT, i64 4), align 4
  %f = load float, ptr @POINT, align 4
  %g = fptoui float %f to i64
  %y.wide = zext i32 %y to i64
  %second = getelementptr inbounds i64, ptr %at, i64 1
  store i64 %y.wide, ptr %second, align 8
  %third = getelementptr inbounds i64, ptr %at, i64 2
  store i64 %g, ptr %third, align 8
  ret void
}

; Adds up %n numbers for each work-item.
define void @sums(ptr %out, ptr %in, i64 %n) {
start:
  %i = call i64 @__schism_global_id_x()
  br label %head
head:
  %k = phi i64 [ 0, %start ], [ %k.after, %body ]
  %sum = phi float [ 0.0, %start ], [ %sum.after, %body ]
  %more = icmp ult i64 %k, %n
  br i1 %more, label %body, label %end
body:
  %from = getelementptr inbounds float, ptr %in, i64 %k
  %value = load float, ptr %from, align 4
  %square = fmul float %value, %value
  %sum.after = fadd float %sum, %square
  %k.after = add nuw nsw i64 %k, 1
  br label %head
end:
  %to = getelementptr inbounds float, ptr %out, i64 %i
  store float %sum, ptr %to, align 4
  ret void
}
