"""The commands, one file each.

In: arguments and flags. Out: text on the screen, files, an exit code.

demo      `raytpnn demo`.
diagnose  `raytpnn diagnose`.
doctor    `raytpnn doctor`.
effects   `raytpnn effects`.
fit       `raytpnn fit`.
genes     `raytpnn genes`.
inspect   `raytpnn inspect`.
new       `raytpnn new`.
predict   `raytpnn predict`.
repair    `raytpnn repair`.
report    `raytpnn report`.
resume    `raytpnn resume`.
tune      `raytpnn tune`.
watch     `raytpnn watch`.
"""
