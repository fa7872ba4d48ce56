// Statically linked: no preload library gets into it.
int main(void)
{
    return 5;
}
