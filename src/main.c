/* Arguments go to cli/; nothing else happens here. SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>

#include "cli/cli.h"

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, "C.UTF-8"); /* host names beyond ASCII */
    return cli_main(argc, argv);
}
