module bellwether.dev/client

go 1.19
